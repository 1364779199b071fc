"""How far estimated shares scatter around the truth, as a function of the truth.

The noise of a fixed population is that of the perturbation alone; its variance is linear in the
share f (Wang, Blocki, Li, Jha 2017). Were the devices drawn from a larger population, the share
among them would scatter by f (1 - f) / devices more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Squared quantile of 95%, rounded up as Agresti and Coull do: "add two successes, two failures".
_CENTRE = 4.0
# Of a few sums of products of floats.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Noise:
    """Variance `absent + slope f` of each share at the truth f, were the population fixed; (k,).

    `devices` is how many independent draws the reports count for. `beforehand` is
    the variance at f = 0 as it was known before any report was read, the same for all values; None
    where only the reports tell it. `support` are the probabilities p > q that a report supports a
    value where each report does so on its own ("pure" protocols), else None.
    """

    absent: Floats
    slope: Floats
    devices: float
    beforehand: float | None = None
    support: tuple[Fraction, Fraction] | None = None

    def variance(self, frequency: Floats) -> Floats:
        """Return the variance at these true shares, taken into [0, 1], for a fixed population."""
        # The variance is not below 0 at any f in [0, 1]; only rounding can make it so.
        return np.maximum(self.absent + self.slope * np.clip(frequency, 0, 1), 0)

    def drawn_variance(self, frequency: Floats) -> Floats:
        """Return the variance at these true shares of a population that the devices come from."""
        share = np.clip(frequency, 0, 1)
        return self.variance(share) + share * (1 - share) / self.devices

    def std_error(self, frequency: Floats) -> Floats:
        """Return the standard deviation of estimates at `frequency`, for a fixed population.

        A share that was estimated low by chance has a small variance by the same chance: it is
        told at the centre of its interval (Agresti, Coull 1998), which is never the smaller one.
        Only the sum over a whole domain, which is 1 in every report, has no error.
        """
        at_centre = self.variance(frequency + _CENTRE / 2 * self.slope)
        whole = np.abs(self.absent + self.slope) <= _ROUNDING * np.abs(self.absent)
        certain = whole & (np.abs(frequency - 1) <= _ROUNDING)
        return np.asarray(np.sqrt(np.where(certain, 0.0, at_centre)))

    def drawn_std_error(self, frequency: Floats) -> Floats:
        """Return the standard deviation of estimates at `frequency` of a larger population."""
        slope = self.slope + 1 / self.devices
        shrunk = 1 + _CENTRE / self.devices
        centre = (frequency + _CENTRE / 2 * slope) / shrunk
        return np.asarray(np.sqrt(self.drawn_variance(centre)))

    def drawn_interval(self, frequency: Floats, z: float) -> tuple[Floats, Floats]:
        """Return all shares of a larger population that are within z deviations of `frequency`.

        Wilson's interval (1927): the roots of (f - frequency)^2 = z^2 variance(f), a quadratic.
        """
        sampling = z * z / self.devices
        lead = 1 + sampling
        half = frequency + (z * z * self.slope + sampling) / 2
        rest = np.square(frequency) - z * z * self.absent
        root = np.sqrt(np.maximum(np.square(half) - lead * rest, 0))
        return (half - root) / lead, (half + root) / lead
