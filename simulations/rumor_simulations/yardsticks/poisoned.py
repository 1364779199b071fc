"""The gain of fakes on OUE (Y15; Cao, Jia, Gong 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rumor_simulations.attacks.poisoning import Poison, poisoning
from rumor_simulations.crowd import Crowd
from rumor_simulations.yardsticks.populations import question, values
from rumor_simulations.yardsticks.yardstick import Yardstick

_PUBLISHED = 1.5815
_FAKES, _TARGETS, _SHARE = 0.05, 10, 0.01


def measure_poisoning(runs: int) -> Iterator[Yardstick]:
    """Yield Y15. More `runs` make a smaller error."""
    k, n = 64, 100_000
    counts = np.zeros(k, dtype=np.int64)
    counts[0], counts[-1] = round(n * (1 - _SHARE)), round(n * _SHARE)
    crowd, targets = Crowd(values(k), counts), values(k)[-_TARGETS:]
    rng = np.random.default_rng(6)
    for gain in poisoning(question("oue", "1", k), crowd, targets, _FAKES, runs, rng):
        if gain.poison is Poison.MAXIMAL:
            what = "gain of 5% of fakes on ten values of 1% together, oue, epsilon 1"
            yield Yardstick("Y15", what, gain.predicted, _PUBLISHED, gain.gain, gain.std_error)
