"""What counts of hits say about a privacy loss: Clopper-Pearson bounds of a ratio of rates.

Clopper, Pearson (Biometrika 1934): exact at every count, from the tails of the binomial law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv


def rate_low(hits: int, trials: int, alpha: float) -> float:
    """Return a rate that the true one is below with probability at most alpha."""
    return float(betaincinv(hits, trials - hits + 1, alpha)) if hits else 0.0


def rate_high(hits: int, trials: int, alpha: float) -> float:
    """Return a rate that the true one is above with probability at most alpha."""
    return 1.0 - rate_low(trials - hits, trials, alpha)


@dataclass(frozen=True)
class Contrast:
    """How often an event came where it should be likely, and where it should be unlikely."""

    hits: int
    trials: int
    false_hits: int
    false_trials: int

    def loss_low(self, alpha: float) -> float:
        """Return epsilon that the true loss is below with probability at most alpha; 0 if none."""
        likely = rate_low(self.hits, self.trials, alpha / 2)
        unlikely = rate_high(self.false_hits, self.false_trials, alpha / 2)
        return max(0.0, math.log(likely / unlikely)) if likely else 0.0

    def loss_high(self, alpha: float) -> float:
        """Return epsilon that this event's loss is above with probability at most alpha."""
        likely = rate_high(self.hits, self.trials, alpha / 2)
        unlikely = rate_low(self.false_hits, self.false_trials, alpha / 2)
        return max(0.0, math.log(likely / unlikely)) if unlikely else math.inf
