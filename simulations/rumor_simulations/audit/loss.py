"""Measure what a client gives away between two values: bounds of epsilon from many trials."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from rumor_shared.metric import Metric
from rumor_simulations.audit.bounds import Contrast, rate_high, rate_low
from rumor_simulations.audit.events import Support, WorstEvent, discover, permanent_metric
from rumor_simulations.audit.trials import Trials
from rumor_simulations.population import Counts, Octets

# Both values are the likely one in turn, under the worst event and under a chosen one.
EVENTS = 4
# The share of trials by which an event is chosen; the rest judge it.
_CHOOSING = 0.25
# To choose an event and judge it takes no more trials and bytes than these.
_MOST_CHOSEN = 80_000
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Rate:
    """How often reports of a value supported it, and how often they should."""

    hits: int
    trials: int
    chance: float

    def wrong(self, alpha: float) -> bool:
        """Return whether the rate isn't the chance; wrong with probability at most alpha."""
        low = rate_low(self.hits, self.trials, alpha / 2)
        return not low <= self.chance <= rate_high(self.hits, self.trials, alpha / 2)


@dataclass(frozen=True)
class Loss:
    """What each event showed; the worst events first, then those that were chosen from data.

    `supports` are the rates of support of each value by its own reports.
    """

    contrasts: tuple[Contrast, ...]
    supports: tuple[Rate, ...]

    def low(self, alpha: float) -> float:
        """Return epsilon that the true loss is below with probability at most alpha."""
        return max(c.loss_low(alpha / EVENTS) for c in self.contrasts)

    def high(self, alpha: float) -> float:
        """Return epsilon that the worst event's loss is above with probability at most alpha."""
        return max(c.loss_high(alpha / 2) for c in self.contrasts[:2])


def measure_loss(
    metric: Metric,
    pair: tuple[str, str],
    trials: int,
    *,
    permanent: bool = False,
    pool: Executor | None = None,
) -> Loss:
    """Run `trials` devices of each value, in `pool` if given. Raises WrongLength."""
    judged = permanent_metric(metric) if permanent else metric
    worst = (WorstEvent(judged, *pair), WorstEvent(judged, *reversed(pair)))
    jobs = [
        (Trials(metric, text, trials, permanent), (*worst, Support(judged, text))) for text in pair
    ]
    runner = map if pool is None else pool.map
    one, other = runner(_run, jobs)
    return Loss(
        (
            Contrast(one.hits[0], trials, other.hits[0], trials),
            Contrast(other.hits[1], trials, one.hits[1], trials),
            _chosen(one, other),
            _chosen(other, one),
        ),
        tuple(
            Rate(sample.hits[2], trials, chance)
            for sample, text in ((one, pair[0]), (other, pair[1]))
            if (chance := Support(judged, text).chance) is not None
        ),
    )


@dataclass(frozen=True, eq=False)
class _Sample:
    hits: tuple[int, ...]
    choosing: tuple[Octets, Counts]
    judging: tuple[Octets, Counts]


def _run(job: tuple[Trials, tuple[WorstEvent | Support, ...]]) -> _Sample:
    trials, events = job
    length = trials.metric.mechanism.payload_bytes
    hits = [0] * len(events)
    blocks: list[tuple[Octets, Counts]] = []
    kept, wanted = 0, min(trials.count, _MOST_CHOSEN, _MOST_BYTES // length)
    for payloads, cohorts in trials.run():
        for i, event in enumerate(events):
            hits[i] += int(event.marks(payloads, cohorts).sum())
        if kept < wanted:
            blocks.append((payloads[: wanted - kept], cohorts[: wanted - kept]))
            kept += len(blocks[-1][0])
    payloads = np.concatenate([p for p, _ in blocks])
    cohorts = np.concatenate([c for _, c in blocks])
    cut = int(_CHOOSING * len(payloads))
    return _Sample(tuple(hits), (payloads[:cut], cohorts[:cut]), (payloads[cut:], cohorts[cut:]))


def _chosen(one: _Sample, other: _Sample) -> Contrast:
    event = discover(one.choosing, other.choosing)
    return Contrast(
        int(event(*one.judging).sum()),
        len(one.judging[0]),
        int(event(*other.judging).sum()),
        len(other.judging[0]),
    )
