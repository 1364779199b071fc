"""What the planner says of the mechanism with memory."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rumor_server.planner import Option, Refusal, memoised_option
from rumor_shared.errors import RegistryError

VALUES = ("red", "green", "blue")


def test_compares_memory_at_both_epsilons() -> None:
    """A first report costs what was asked, and all reports of a value what was asked for life."""
    option = memoised_option(VALUES, Decimal("1"), Decimal("2"))
    assert isinstance(option, Option)
    mechanism = option.mechanism
    assert mechanism.epsilon_report <= 1_000_000
    assert mechanism.epsilon_life(1000) <= 2_000_000
    # As exact as unary encoding at the epsilon of a first report: q* / p* = e^(1/2).
    p, q = option.accuracy.p, option.accuracy.q
    assert float(p * (1 - q) / (q * (1 - p))) == pytest.approx(2.718281828, rel=1e-5)
    assert option.report_bytes == 1


def test_refuses_memory_that_protects_no_more_than_a_report() -> None:
    """A life can't cost less than its first report."""
    refusal = memoised_option(VALUES, Decimal("2"), Decimal("1"))
    assert isinstance(refusal, Refusal)
    assert "epsilon_first_report" in refusal.reason


@pytest.mark.parametrize("wrong", ["0", "-1", "NaN", "17"])
def test_names_the_epsilon_that_no_registry_may_have(wrong: str) -> None:
    """The message names the one of life, not that of a report."""
    with pytest.raises(RegistryError, match="epsilon_infinity"):
        memoised_option(VALUES, Decimal("1"), Decimal(wrong))
