"""Events that tell two values apart: the worst one that theory knows, and one that data show.

The worst event of a mechanism is where its own law has the largest ratio: "bit v is set and bit v'
is clear" of a unary encoding, "v is in and v' is not" of a set, "the answer is the cell of v alone"
of a hash. All are "the evidence for v exceeds that for v' by all of epsilon". A faulty client may
have a worse one, so a second event is chosen from the first quarter of the trials and judged by the
rest alone (as StatDP, Ding et al. 2018, and DP-Sniper, Bichsel et al. 2021, do).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from rumor_shared.epsilon import MICRO
from rumor_shared.errors import IncompleteMechanism
from rumor_shared.metric import Metric
from rumor_simulations.mechanisms import evidence
from rumor_simulations.mechanisms.population_model import MemoisedModel
from rumor_simulations.mechanisms.table import population_model
from rumor_simulations.population import Counts, Octets

Marks = NDArray[np.bool_]

# Evidence is a float64 sum of logarithms, and a declared epsilon is rounded up to 1e-6.
_ROUNDING = 3e-6
# A payload seen this often at least may be part of a chosen event.
_SEEN = 5


@dataclass(frozen=True)
class WorstEvent:
    """The reports whose evidence for `value` exceeds that for `other` by all of epsilon."""

    metric: Metric
    value: str
    other: str

    def marks(self, payloads: Octets, cohorts: Counts) -> Marks:
        """Return bool (reports,): in which reports the event came."""
        both = evidence(self.metric, payloads, cohorts, (self.value, self.other))
        whole = self.metric.mechanism.epsilon_report / MICRO
        return both[:, 0] - both[:, 1] >= whole - _ROUNDING


@dataclass(frozen=True)
class Support:
    """The reports that support `text`: each speaks for it, if to different degrees."""

    metric: Metric
    text: str

    def marks(self, payloads: Octets, cohorts: Counts) -> Marks:
        """Return bool (reports,): in which reports the event came."""
        supports: Marks = evidence(self.metric, payloads, cohorts, (self.text,))[:, 0] > _ROUNDING
        return supports

    @property
    def chance(self) -> float | None:
        """How likely a report of `text` supports it, None where that is more than yes or no."""
        mechanism = self.metric.mechanism
        law, pair = mechanism.bit_law(), mechanism.support()
        if pair is None or pair[0] < pair[1] or (law is not None and law.most > 1):
            return None
        return float(pair[0])


def permanent_metric(metric: Metric) -> Metric:
    """Return a metric whose reports are the permanent answers of `metric`, of their epsilon.

    Raises IncompleteMechanism where the population model says nothing of permanent answers.
    """
    model = population_model(metric)
    if not isinstance(model, MemoisedModel):
        wanted = f"{MemoisedModel.__module__}.{MemoisedModel.__name__}"
        raise IncompleteMechanism(metric.mechanism.name, "population_model", wanted)
    return model.permanent_metric()


def discover(
    value: tuple[Octets, Counts], other: tuple[Octets, Counts]
) -> Callable[[Octets, Counts], Marks]:
    """Choose an event that seems likelier under `value` than under `other`, from their trials.

    It is a set of whole reports, a set of cohorts or one bit at one value, whichever has the
    largest score: the logarithm of its ratio less two of its own standard errors.
    """
    found = [
        _best_names(value, other, _reports),
        _best_names(value, other, _cohorts),
        _best_bit(value[0], other[0]),
    ]
    return max(found, key=lambda scored: scored[0])[1]


def _reports(payloads: Octets, cohorts: Counts) -> list[bytes]:
    width = payloads.shape[1]
    joined = payloads.tobytes()
    return [
        joined[i * width : (i + 1) * width] + cohort.to_bytes(4, "little")
        for i, cohort in enumerate(cohorts.tolist())
    ]


def _cohorts(payloads: Octets, cohorts: Counts) -> list[bytes]:
    return [cohort.to_bytes(4, "little") for cohort in cohorts.tolist()]


def _best_names(
    value: tuple[Octets, Counts],
    other: tuple[Octets, Counts],
    names: Callable[[Octets, Counts], list[bytes]],
) -> tuple[float, Callable[[Octets, Counts], Marks]]:
    here, there = Counter(names(*value)), Counter(names(*other))
    seen = [name for name, count in here.items() if count >= _SEEN]
    seen.sort(key=lambda name: (there[name] + 0.5) / here[name])
    best, chosen, hits, false_hits = float("-inf"), 0, 0, 0
    for number, name in enumerate(seen, start=1):
        hits += here[name]
        false_hits += there[name]
        score = _score(hits, false_hits)
        if score > best:
            best, chosen = score, number
    event = frozenset(seen[:chosen])

    def marks(payloads: Octets, cohorts: Counts) -> Marks:
        return np.array([name in event for name in names(payloads, cohorts)], dtype=np.bool_)

    return best, marks


def _best_bit(value: Octets, other: Octets) -> tuple[float, Callable[[Octets, Counts], Marks]]:
    here = np.unpackbits(value, axis=1, bitorder="little").sum(axis=0)
    there = np.unpackbits(other, axis=1, bitorder="little").sum(axis=0)
    n, m = len(value), len(other)
    best, bit, wanted = float("-inf"), 0, 1
    for i in range(len(here)):
        for state, hits, false_hits in ((1, here[i], there[i]), (0, n - here[i], m - there[i])):
            score = _score(int(hits), int(false_hits))
            if score > best:
                best, bit, wanted = score, i, state

    def marks(payloads: Octets, cohorts: Counts) -> Marks:
        found: Marks = (payloads[:, bit // 8] >> (bit % 8) & 1) == wanted
        return found

    return best, marks


def _score(hits: int, false_hits: int) -> float:
    """Return the log ratio of two counts of equally many trials, less two standard errors."""
    h, f = hits + 0.5, false_hits + 0.5
    return log(h / f) - 2 * sqrt(1 / h + 1 / f)
