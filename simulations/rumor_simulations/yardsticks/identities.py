"""Published numbers that are computed and not drawn: parameters (Y11, Y12), shuffling (Y10)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from rumor_server.planner import plan_options
from rumor_shared.epsilon import MICRO
from rumor_shared.mechanism import Mechanism
from rumor_shared.registry import registry_of
from rumor_simulations.shuffling import amplified, closed_form
from rumor_simulations.yardsticks.populations import values
from rumor_simulations.yardsticks.yardstick import Yardstick


def measure_identities() -> Iterator[Yardstick]:
    """Yield Y11 and Y12 from the shipped integers."""
    for f, infinity, first in (("0.5", 4.3944, 1.0743), ("0.75", 2.0433, 0.5343)):
        mechanism = _rappor(f)
        what = f"RAPPOR with f = {f}, p = .5, q = .75, two hashes"
        charged = (mechanism.epsilon_infinity or 0) / MICRO
        kept = float(Decimal(f)) / 2
        exact = 4 * math.log((1 - kept) / kept)
        yield Yardstick("Y11", f"{what}: epsilon for ever", exact, infinity, charged, 0, 5)
        high, low = kept * 1.25 + (1 - 2 * kept) * 0.75, kept * 1.25 + (1 - 2 * kept) * 0.5
        exact = 2 * math.log(high * (1 - low) / (low * (1 - high)))
        charged = mechanism.epsilon_report / MICRO
        yield Yardstick("Y11", f"{what}: epsilon of one report", exact, first, charged, 0, 5)
    for epsilon, published in (("1", 10.15), ("2", 24.17), ("4", 165.8)):
        exact = 3 * math.exp(float(epsilon)) + 2
        what = f"number of values at which krr and oue are equally exact, epsilon {epsilon}"
        yield Yardstick("Y12", what, exact, published, _crossing(epsilon), 0, 4)


def _rappor(f: str) -> Mechanism:
    table = {
        "mechanism": "rappor",
        "bits": 128,
        "f": Decimal(f),
        "p": Decimal("0.5"),
        "q": Decimal("0.75"),
        "revision": 1,
        "owner": "yardsticks",
        "purpose": "yardsticks",
        "expires": date(9999, 12, 31),
    }
    return registry_of({"metrics": {"yardstick": table}}).metric("yardstick").mechanism


def _crossing(epsilon: str) -> float:
    """Return where the variance of krr, which is linear in the number of values, meets oue's."""
    few, many = 4, 400
    variances = {}
    for k in (few, many):
        options, _ = plan_options(values(k), Decimal(epsilon))
        variances[k] = {o.name: o.accuracy.variance(0.0) for o in options}
    slope = (variances[many]["krr"] - variances[few]["krr"]) / (many - few)
    return few + (variances[few]["oue"] - variances[few]["krr"]) / slope


# apple/ml-shuffling-amplification, README: n = 10^5, epsilon 4, delta 1e-6.
_LOW, _HIGH = 0.1675385583, 0.1727905508
_CLOSED = 0.5378040242


def measure_shuffling() -> Iterator[Yardstick]:
    """Yield Y10."""
    what = "central epsilon of 10^5 shuffled reports, epsilon 4, delta 1e-6"
    middle = (_LOW + _HIGH) / 2
    bracket = f"{what}: numeric (published: from {_LOW:.5f} to {_HIGH:.5f})"
    yield Yardstick("Y10", bracket, middle, middle, amplified(4, 10**5, 1e-6), 0, 3)
    closed = closed_form(4, 10**5, 1e-6) or 0.0
    yield Yardstick("Y10", f"{what}: closed form", _CLOSED, _CLOSED, closed, 0, 9)
