"""The law of a report's weight, against counting and against drawing."""

import math
import random

import pytest
from tests.harness.collector import registry

from rumor_server.statistics.authenticity.weight_law import ODD_RATE, _tail, weight_law
from rumor_shared.mechanism import Bits
from rumor_shared.metric import Metric

HEAD = 'revision = 1\nowner = "o"\npurpose = "p"\nexpires = 2999-12-31\n'
MECHANISMS = {
    "oue": 'mechanism = "oue"\nepsilon = 1.0\nvalues = [%s]\n',
    "sue": 'mechanism = "sue"\nepsilon = 2.0\nvalues = [%s]\n',
    "basic_rappor": (
        'mechanism = "basic_rappor"\nf = 0.25\np = 0.35\nq = 0.75\nmax_values = 1\nvalues = [%s]\n'
    ),
}
VALUES = ", ".join(f'"v{number}"' for number in range(20))


def metric(body: str) -> Metric:
    """A metric of this table."""
    return registry(f"[metrics.m]\n{HEAD}{body}").metric("m")


def exactly(bits: Bits, b: int) -> list[float]:
    """P[weight = w] for each w, by adding one bit at a time."""
    law = [1.0]
    for p in [bits.p1] * b + [bits.p0] * (bits.cells - b):
        law = [
            (law[w] if w < len(law) else 0.0) * (1 - p) + (law[w - 1] * p if w else 0.0)
            for w in range(len(law) + 1)
        ]
    return law


@pytest.mark.parametrize("b", [1, 2])
def test_agrees_with_counting(b: int) -> None:
    """Both tails are those of k bits added one by one."""
    import numpy as np

    bits = Bits(12, 2, 0.5, 0.2)
    law = exactly(bits, b)
    weights = np.arange(13)
    assert _tail(bits, b, weights, upper=False) == pytest.approx(
        [math.fsum(law[: w + 1]) for w in range(13)]
    )
    assert _tail(bits, b, weights, upper=True) == pytest.approx(
        [math.fsum(law[w + 1 :]) for w in range(13)], abs=1e-12
    )


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_calls_few_honest_reports_odd(name: str) -> None:
    """No value's reports are light or heavy more often than the rate that is told."""
    mechanism = metric(MECHANISMS[name] % VALUES).mechanism
    law = weight_law(mechanism)
    assert law is not None
    assert 0 < law.light_rate <= ODD_RATE or law.least == 0
    assert 0 < law.heavy_rate <= ODD_RATE or law.most == 20
    p1, p0 = (
        (mechanism.q_star, mechanism.p_star)  # type: ignore[attr-defined]
        if name == "basic_rappor"
        else (mechanism.p, mechanism.q)  # type: ignore[attr-defined]
    )
    exact = exactly(Bits(20, 1, float(p1), float(p0)), 1)
    assert math.fsum(exact[: law.least]) == pytest.approx(law.light_rate, abs=1e-12)
    assert math.fsum(exact[law.most + 1 :]) == pytest.approx(law.heavy_rate, abs=1e-12)
    mean = math.fsum(w * chance for w, chance in enumerate(exact))
    assert law.mean_low == pytest.approx(mean) == law.mean_high


def test_covers_every_filter_of_rappor() -> None:
    """Hashes may coincide: the law holds for one set bit and for all h, and drawing agrees."""
    mechanism = metric(
        'mechanism = "rappor"\nbits = 64\nhashes = 3\ncohorts = 8\nf = 0.0\np = 0.25\nq = 0.75\n'
    ).mechanism
    law = weight_law(mechanism)
    assert law is not None
    assert law.mean_low < law.mean_high
    draw = random.Random(7)
    odd = 0
    for _ in range(20_000):
        b = draw.choice((1, 2, 3))
        weight = sum(draw.random() < (0.75 if bit < b else 0.25) for bit in range(64))
        odd += not law.least <= weight <= law.most
    # At most 4 are expected; 25 or more happen once in 10^12.
    assert odd < 25


def test_has_no_law_for_a_number() -> None:
    """A report that is one number has no weight."""
    assert (
        weight_law(metric('mechanism = "krr"\nepsilon = 1.0\nvalues = ["a", "b"]\n').mechanism)
        is None
    )
