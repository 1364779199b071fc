"""How many reports of a metric set too few or too many bits for the law of their mechanism.

Nothing is refused for its weight: an honest report is odd now and then, and to drop those would
bend the estimate. The counts stand beside the estimate, summed by day like a tally.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rumor_server.statistics.authenticity.weight_law import WeightLaw


@dataclass(frozen=True, slots=True)
class WeightCounts:
    """How many reports were looked at, and how many of them set too few or too many bits."""

    reports: int = 0
    light: int = 0
    heavy: int = 0

    def __add__(self, other: WeightCounts) -> WeightCounts:
        """Return the counts of both."""
        return WeightCounts(
            self.reports + other.reports, self.light + other.light, self.heavy + other.heavy
        )


def weigh(payloads: Iterable[bytes], law: WeightLaw) -> WeightCounts:
    """Return the counts of some reports of one mechanism."""
    weights = [int.from_bytes(payload, "little").bit_count() for payload in payloads]
    light = sum(weight < law.least for weight in weights)
    heavy = sum(weight > law.most for weight in weights)
    return WeightCounts(len(weights), light, heavy)
