"""What an analyst is given: raw signed frequencies, and how far each may be from the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.noise import Noise

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A sum over all values is certain. Where errors divide, they count as no less than this, which is
# far below the share of one device.
LEAST_ERROR = 1e-15

_ARRAYS = (
    "frequency",
    "std_error",
    "low",
    "high",
    "simultaneous_low",
    "simultaneous_high",
    "p_value",
)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of how common each value is among the `n` devices that reported.

    Each array has one finite entry a value, or none at all where n = 0; all but `p_value` and
    `significant` are shares of 1. `frequency` is unbiased and may lie below 0 or above 1.
    `low` and `high` hold the truth of one value with probability 1 - alpha; the simultaneous bounds
    hold all truths at once with that probability (Bonferroni). `p_value` is the probability of so
    many reports where no device has the value, and `significant` marks those that pass Bonferroni
    at alpha. `unexplained` is the share of reports that no listed value accounts for (open domains
    only). `noise` says how far the estimates scatter; `comparisons` is how many of them can be
    wrong on their own, None all of them. Raises ValueError for an entry that is not finite or a
    length that differs.
    """

    values: tuple[str, ...]
    n: int
    alpha: float
    frequency: Floats
    std_error: Floats
    low: Floats
    high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats
    p_value: Floats
    significant: Bools
    unexplained: float | None = None
    unexplained_std_error: float | None = None
    noise: Noise | None = None
    comparisons: int | None = None

    def __post_init__(self) -> None:
        shape = (len(self.values) if self.n else 0,)
        for name in (*_ARRAYS, "significant"):
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} has shape {array.shape}; it needs {shape}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} has an entry that is not finite")

    @property
    def tests(self) -> int:
        """How many tests the simultaneous bounds and marks allow for."""
        return max(1, len(self.values)) if self.comparisons is None else self.comparisons

    @classmethod
    def empty(cls, values: tuple[str, ...], alpha: float, *, n: int = 0) -> Estimates:
        """Return what is known of `values` from no report, or of no values from `n` reports."""
        nothing = np.zeros(0)
        return cls(
            values=values,
            n=n,
            alpha=alpha,
            frequency=nothing,
            std_error=nothing,
            low=nothing,
            high=nothing,
            simultaneous_low=nothing,
            simultaneous_high=nothing,
            p_value=nothing,
            significant=np.zeros(0, dtype=np.bool_),
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dict a value, of str, int, float and bool; None for all that n = 0 leaves open.

        `estimate` is the frequency times n: the debiased number of reports. Every other key is the
        field of that name.
        """
        if not self.n:
            for value in self.values:
                unknown = dict.fromkeys(("estimate", *_ARRAYS, "significant"))
                yield {"value": value, "n": 0, **unknown}
            return
        columns = {name: getattr(self, name).tolist() for name in _ARRAYS}
        for i, value in enumerate(self.values):
            yield {
                "value": value,
                "n": self.n,
                "estimate": columns["frequency"][i] * self.n,
                **{name: column[i] for name, column in columns.items()},
                "significant": bool(self.significant[i]),
            }


# What an estimator answers with: a closed union, today of shares alone. A later kind of question
# (quantiles, a mean, words) adds its type here, and every `match` over it is checked by mypy.
Answer: TypeAlias = Estimates
