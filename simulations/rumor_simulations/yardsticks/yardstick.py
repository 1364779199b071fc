"""One published number beside what theory predicts and what we measure, and the table of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import norm, t

# Of forty rows one is this far off by chance once in 40,000 tables.
TOLERANCE = 5.0


@dataclass(frozen=True)
class Yardstick:
    """`measured` has the standard error `error`; 0 where it is computed, not drawn.

    `published` is the number in the paper or in its authors' result files, None where only the
    prediction is known. `digits` is how many significant digits it was published with,
    `freedom` the degrees of freedom of an error that was estimated from runs.
    """

    name: str
    what: str
    predicted: float
    published: float | None
    measured: float
    error: float
    digits: int = 4
    freedom: int | None = None

    @property
    def z(self) -> float | None:
        """How many standard errors the measurement is from the prediction; None if computed.

        An error that was itself estimated makes chance larger: its t is told as the normal
        deviate that is as improbable, so that one tolerance serves all rows.
        """
        if not self.error:
            return None
        apart = (self.measured - self.predicted) / self.error
        if self.freedom is None:
            return apart
        return math.copysign(float(norm.isf(t.sf(abs(apart), self.freedom))), apart)

    @property
    def reproduced(self) -> bool:
        """Whether the prediction is met: within 5 standard errors, or to the published digits."""
        if self.z is not None:
            return abs(self.z) <= TOLERANCE
        return abs(self.measured - self.predicted) <= 10.0 ** (1 - self.digits) * self.predicted


_HEAD = """\
# Accuracy

<!-- Made by `make yardsticks`. Do not edit: the next run writes over it. -->

Published numbers, and the same measured on the estimators as they are shipped, with fixed seeds.
`predicted` is what theory gives for the exact integers of the mechanism; `published` is what the
authors' own files or papers say; `z` is how many of its own standard errors our measurement is from
the prediction (exact where nothing is drawn). The errors of Y1 to Y8 and LH are the spread between
whole runs, because the squares of a run share its reports. Published measurements have errors of
their own, of about 1% for Y1 to Y4.

Rows Y1 to Y8 and LH are mean squared errors of estimated counts, in devices squared, averaged over
all values. The others say what they are. What is *not offered* is measured for comparison alone.

| | what | predicted | published | ours | z |
|---|---|---|---|---|---|
"""


def table(yardsticks: Sequence[Yardstick]) -> str:
    """Return the document, a row a yardstick."""
    return _HEAD + "".join(f"| {' | '.join(_cells(one))} |\n" for one in yardsticks)


def _cells(one: Yardstick) -> tuple[str, ...]:
    z = "exact" if one.z is None else f"{one.z:+.1f}"
    if not one.reproduced:
        z += " **not reproduced**"
    published = "" if one.published is None else f"{one.published:g}"
    return one.name, one.what, _number(one.predicted), published, _number(one.measured), z


def _number(x: float) -> str:
    return f"{x:.5g}" if abs(x) < 100_000 else f"{x:,.0f}"
