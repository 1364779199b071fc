"""One published number: what theory predicts, what others measured, and what we measure."""

from __future__ import annotations

from dataclasses import dataclass

# Of forty rows one is this far off by chance once in 40,000 tables.
TOLERANCE = 5.0


@dataclass(frozen=True)
class Yardstick:
    """`measured` has the standard error `error`; 0 where it is computed, not drawn.

    `published` is the number in the paper or in its authors' result files, None where only the
    prediction is known. `digits` is how many significant digits it was published with.
    """

    name: str
    what: str
    predicted: float
    published: float | None
    measured: float
    error: float
    digits: int = 4

    @property
    def z(self) -> float | None:
        """How many standard errors the measurement is from the prediction; None if computed."""
        return (self.measured - self.predicted) / self.error if self.error else None

    @property
    def reproduced(self) -> bool:
        """Whether the prediction is met: within 5 standard errors, or to the published digits."""
        if self.z is not None:
            return abs(self.z) <= TOLERANCE
        return abs(self.measured - self.predicted) <= 10.0 ** (1 - self.digits) * self.predicted
