"""The client under audit: the installed one, or any other that a test plants a fault in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness, permanent_randomness
from rumor_shared.metric import Metric
from rumor_shared.probability import HALF
from rumor_shared.wire import SECRET_BYTES
from rumor_simulations.audit.exact_law import Law, law_of

Perturb = Callable[[Metric, str, int, Randomness], bytes]
Permanent = Callable[[Metric, str, int, Randomness], bytes]
Instantaneous = Callable[[Metric, bytes, Randomness], bytes]


@dataclass(frozen=True)
class Client:
    """The functions of one mechanism's client module.

    A memoised metric needs `permanent` and `instantaneous`, any other `perturb`. To be sampled in
    several processes they must be functions of an importable module.
    """

    perturb: Perturb
    permanent: Permanent | None = None
    instantaneous: Instantaneous | None = None

    def first_report(self, metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the payload of a fresh device's first report, its secret drawn from `live`."""
        if self.permanent is None or self.instantaneous is None or not metric.mechanism.memoised:
            return self.perturb(metric, text, cohort, live)
        return self.instantaneous(metric, self.permanent_of(metric, text, cohort, live), live)

    def permanent_of(self, metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the permanent answer of a fresh device. Raises TypeError without memoisation."""
        if self.permanent is None:
            raise TypeError(f"metric {metric.name!r} has no permanent answer")
        secret = live.bits(8 * SECRET_BYTES, 0, 0, HALF).to_bytes(SECRET_BYTES, "little")
        chance = permanent_randomness(
            secret, metric.name, metric.revision, cohort, text.encode("utf-8", "strict")
        )
        return self.permanent(metric, text, cohort, chance)

    def report_law(self, metric: Metric, text: str, cohort: int, limit: int) -> Law:
        """Return the exact law of a device's first report. Raises TooManyOutcomes."""
        if self.instantaneous is None or not metric.mechanism.memoised:
            return law_of(lambda live: self.perturb(metric, text, cohort, live), limit)
        mixed: Law = {}
        for answer, weight in self.permanent_law(metric, text, cohort, limit).items():
            for payload, p in _response_law(self.instantaneous, metric, answer, limit).items():
                mixed[payload] = mixed.get(payload, Fraction(0)) + weight * p
        return mixed

    def permanent_law(self, metric: Metric, text: str, cohort: int, limit: int) -> Law:
        """Return the exact law of the permanent answer over device secrets."""
        permanent = self.permanent
        if permanent is None:
            raise TypeError(f"metric {metric.name!r} has no permanent answer")
        return law_of(lambda chance: permanent(metric, text, cohort, chance), limit)


# The values of one metric share their permanent answers.
@lru_cache(maxsize=256)
def _response_law(instantaneous: Instantaneous, metric: Metric, answer: bytes, limit: int) -> Law:
    return law_of(lambda live: instantaneous(metric, answer, live), limit)


def installed_client(metric: Metric) -> Client:
    """Return the client that is installed here for the metric's mechanism."""
    if metric.mechanism.memoised:
        return Client(_perturb, _permanent, _instantaneous)
    return Client(_perturb)


def _perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    return perturber(metric).perturb(text, cohort, live)


def _permanent(metric: Metric, text: str, cohort: int, randomness: Randomness) -> bytes:
    return memoised_perturber(metric).permanent(text, cohort, randomness)


def _instantaneous(metric: Metric, permanent: bytes, live: Randomness) -> bytes:
    return memoised_perturber(metric).instantaneous(permanent, live)
