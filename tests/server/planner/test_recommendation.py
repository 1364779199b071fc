"""Which mechanism is recommended, why, and what it needs."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rumor_server.planner import (
    Plan,
    PlanError,
    Target,
    devices_needed,
    epsilon_needed,
    plan,
    plan_options,
)
from rumor_shared.errors import RegistryError
from rumor_shared.mechanism import MAX_CELLS, MAX_PAYLOAD_BYTES


def values(k: int) -> list[str]:
    """k distinct values."""
    return [f"v{i}" for i in range(k)]


def made(k: int, epsilon: str, max_bytes: int | None = None) -> Plan:
    """A plan over k values."""
    return plan(values(k), Decimal(epsilon), max_bytes=max_bytes)


def test_few_values_are_answered_directly() -> None:
    """Over few values krr is the most exact, and there is nothing against it."""
    for k in (2, 3, 4):
        assert made(k, "1").chosen.name == "krr"


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "5", "8", "12"])
@pytest.mark.parametrize("k", [128, 1024, 20_000])
def test_krr_over_many_values_is_never_recommended(k: int, epsilon: str) -> None:
    """Over many values it invites forgery at a low epsilon, and names people at a high one."""
    plan = made(k, epsilon)
    assert plan.chosen.name != "krr"
    if plan.options[0].name == "krr":
        assert "krr" in plan.passed_over


def test_forgery_and_naming_are_the_reasons() -> None:
    """The reasons against krr carry their numbers."""
    assert "596 honest ones" in made(1024, "1").passed_over["krr"]
    assert "one of 1024 values, and with probability 74%" in made(1024, "8").passed_over["krr"]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "4", "5"])
def test_choice_is_nearly_the_most_exact(epsilon: str) -> None:
    """At 1,024 values the choice is within 2.5% of the best possible, in few bytes."""
    plan = made(1024, epsilon)
    best = plan.options[0].accuracy.variance(0.0)
    assert plan.chosen.accuracy.variance(0.0) <= 1.025**2 * best
    assert plan.chosen.report_bytes <= 40


def test_short_reports_cost_exactness() -> None:
    """A limit in bytes is kept; one that none meets is an error that names the shortest."""
    assert made(300, "1", max_bytes=2).chosen.report_bytes <= 2
    with pytest.raises(PlanError, match=r"max_bytes: the shortest report, of \w+, has 2 bytes"):
        made(300, "1", max_bytes=1)


def test_only_a_doubtful_mechanism_is_short_enough() -> None:
    """Where all that fit raise a concern, the least bad is chosen and the concern said."""
    plan = made(256, "1", max_bytes=1)
    assert plan.chosen.name == "krr"
    assert "is all that fits into 1 bytes, though one forged report" in plan.reason


def test_limits_of_a_registry_are_kept() -> None:
    """Every option could be put into a registry; those that could not say why."""
    options, refusals = plan_options(values(600_000), Decimal("1"))
    for option in options:
        assert option.mechanism.payload_bytes <= MAX_PAYLOAD_BYTES
        assert option.cells <= MAX_CELLS
        assert option.mechanism.epsilon_report <= 1_000_000
    reasons = {refusal.name: refusal.reason for refusal in refusals}
    assert "600000 entries; give 2 to 524288" in reasons["oue"]
    assert {o.name for o in options} | set(reasons) == {
        *("krr", "sue", "oue", "subset", "hadamard", "pgr", "local_hashing", "cms", "hcms")
    }


def test_a_wrong_epsilon_is_refused() -> None:
    """An epsilon that no registry may have is refused as there; so is a question of one answer."""
    with pytest.raises(RegistryError, match="epsilon: is above 16"):
        made(10, "17")
    with pytest.raises(PlanError, match="two answers"):
        made(1, "1")


@pytest.mark.parametrize("target", [Target("accuracy", 0.001), Target("detect", 0.01)])
def test_devices_and_epsilon_are_inverse(target: Target) -> None:
    """What is needed is enough, and a little less of it is not."""
    domain = values(200)
    plan, devices = devices_needed(domain, Decimal("1"), target)
    assert target.devices(plan.chosen) == devices
    found, epsilon = epsilon_needed(domain, devices, target)
    assert target.devices(found.chosen) <= devices
    assert Decimal("0.9") < epsilon <= Decimal("1")
    _, fewer = epsilon_needed(domain, devices * 4, target)
    assert fewer < epsilon


def test_targets_out_of_reach_are_refused() -> None:
    """Ten devices can't find a share of one in a million; a share is between 0 and 1."""
    with pytest.raises(PlanError, match="devices: 10 do not reach this"):
        epsilon_needed(values(3), 10, Target("detect", 1e-6))
    for share in (0.0, 1.0, -0.1):
        with pytest.raises(PlanError, match="accuracy: is a share"):
            Target("accuracy", share)


def test_price_of_another_reason_is_told_in_devices() -> None:
    """S-06: what is passed over for any reason says how many more devices that costs."""
    for one in (made(1024, "8"), made(1024, "5"), made(1024, "3", max_bytes=3)):
        for option in one.options:
            if option.name not in one.passed_over:
                continue
            ratio = one.chosen.accuracy.variance(0.0) / option.accuracy.variance(0.0)
            told = f"{one.chosen.name} needs {100 * (ratio - 1):.1f}% more devices"
            assert (told in one.passed_over[option.name]) == (ratio > 1)
    assert "pgr needs" in made(1024, "8").passed_over["subset"]
