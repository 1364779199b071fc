"""One result of an attack: how often it succeeded, beside chance and beside what epsilon allows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rumor_simulations.audit.bounds import rate_high, rate_low

# Bars of a success rate hold the true one with 95%, as if all tries were independent. Where devices
# are matched with each other the variance is smaller than that: .5 to .9 of it over 60 rounds.
_TAIL = 0.025


@dataclass(frozen=True)
class Outcome:
    """An attack's success over `tries`; `x` counts what the attack had (`unit`: days, metrics).

    `chance` is the success of a blind guess. `allowed` is the most that the declared epsilon allows
    any attack, None where the guarantee does not cover what is attacked.
    """

    attack: str
    metric: str
    mechanism: str
    x: int
    unit: str
    success: float
    tries: int
    chance: float
    allowed: float | None

    @property
    def low(self) -> float:
        """A rate that the true success is below with at most 2.5%."""
        return rate_low(round(self.success * self.tries), self.tries, _TAIL)

    @property
    def high(self) -> float:
        """A rate that the true success is above with at most 2.5%."""
        return rate_high(round(self.success * self.tries), self.tries, _TAIL)

    @property
    def row(self) -> dict[str, Any]:
        """The columns of a table."""
        return {**asdict(self), "low": self.low, "high": self.high}
