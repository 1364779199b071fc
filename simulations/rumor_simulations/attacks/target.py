"""What an attacker of a metric knows and may expect: candidate texts, and how many reports come."""

from __future__ import annotations

from dataclasses import dataclass

from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# An attacker's list for an open domain, and the most values of a closed one that are told apart.
OPEN_TEXTS = 32
MOST_TEXTS = 64
# Reports a day that an attack plays at most: beyond it a curve only saturates.
MOST_A_DAY = 4


@dataclass(frozen=True)
class Target:
    """One metric under attack: `texts` its candidates, `a_day` reports a day the ledger lets pass.

    `lifetime` is how many reports it lets pass for ever, None without a lifetime cap.
    """

    metric: Metric
    texts: tuple[str, ...]
    a_day: int
    lifetime: int | None

    def reports(self, days: int) -> int:
        """Return how many reports a device makes in so many days."""
        wanted = days * self.a_day
        return wanted if self.lifetime is None else max(1, min(wanted, self.lifetime))

    def spent(self, reports: int) -> float:
        """Return the epsilon that so many reports of one unchanging value give away at most."""
        mechanism = self.metric.mechanism
        total = reports * mechanism.epsilon_report
        if mechanism.epsilon_infinity is not None:
            total = min(total, mechanism.epsilon_infinity)
        return total / 1e6


def target(registry: Registry, metric: Metric) -> Target:
    """Return the metric as an attacker sees it, under the caps of its registry."""
    mechanism = metric.mechanism
    texts = mechanism.values or tuple(f"candidate {i}" for i in range(OPEN_TEXTS))
    cap = min(metric.daily_epsilon, registry.daily_epsilon)
    a_day = max(1, min(MOST_A_DAY, cap // mechanism.epsilon_report))
    lives = [c for c in (metric.lifetime_epsilon, registry.lifetime_epsilon) if c is not None]
    return Target(metric, texts[:MOST_TEXTS], a_day, _within(metric, min(lives, default=None)))


def _within(metric: Metric, cap: int | None) -> int | None:
    """Return how many reports fit under a lifetime cap; None if any number does."""
    if cap is None:
        return None
    mechanism = metric.mechanism
    if mechanism.epsilon_infinity is not None and mechanism.epsilon_life(1 << 30) <= cap:
        return None
    if mechanism.epsilon_infinity is None:
        return cap // mechanism.epsilon_report
    return cap // mechanism.epsilon_infinity
