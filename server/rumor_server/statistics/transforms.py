"""Exact transforms of integers in O(K log K): Walsh-Hadamard, and sums over orthogonal points.

`walsh_hadamard` goes by butterflies. `orthogonal_sums` are those over the points that are
orthogonal to each point of a projective space. Points of PG(t - 1, r) are numbered as in
`rumor_shared.mechanisms.pgr`: those whose leading 1 is followed by j coordinates begin at
(r^j - 1)/(r - 1).

Let v = (1, w). A point y with <v, y> = 0 is (y0, u) with u a point of the space without the first
coordinate and y0 = -<w, u>, so the sum wanted is that of c[u, -<w, u>] over all u. With c^[u, m]
the discrete Fourier transform of c[u, .] it is

    (1/r) sum_u sum_m c^[u, m] e^(-2 pi i <w, m u> / r)

and m u runs through every non-zero vector of F_r^(t - 1) exactly once, as m runs through 1 ... r -
1 and u through the points: a t - 1 dimensional Fourier transform of r^(t - 1) entries, the one at
zero being the sum over all u and y0 (projection-slice theorem, over a finite field). For v = (0,
v') the first coordinate is free: (1, 0, ..., 0) is orthogonal, and the rest is this same problem
for the sums over y0, in one dimension less. The published decoder (Feldman, Nelson, Nguyen, Talwar
2022) is a dynamic programme in O(K r t).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import fft, fftn

Integers = NDArray[np.int64]

# Sums are integers; one this far from an integer may have been rounded to the wrong one.
_ROUNDING = 0.2
# Rounding errors are a few 2**-53 of all reports; beyond 2**53 every double is an integer.
_MOST_REPORTS = 1 << 50


class PrecisionLost(ArithmeticError):
    """There are more reports than doubles can sum exactly."""

    def __init__(self, reports: int) -> None:
        self.reports = reports
        super().__init__(
            f"a tally of {reports} reports is too large for exact sums; estimate fewer days at once"
        )


def walsh_hadamard(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the transform along the last axis, whose length K is a power of two.

    Entry r is sum_y (-1)^popcount(r & y) table[..., y] (Sylvester's order). It is a new array.
    Transforming twice multiplies by K.
    """
    size = table.shape[-1]
    if size < 1 or size & (size - 1):
        raise ValueError(f"a Hadamard matrix of this order has a power of two rows, not {size}")
    result = table.astype(np.int64, copy=True, order="C")
    half = 1
    while half < size:
        pairs = result.reshape(*table.shape[:-1], size // (2 * half), 2, half)
        first = pairs[..., 0, :].copy()
        pairs[..., 0, :] += pairs[..., 1, :]
        np.subtract(first, pairs[..., 1, :], out=pairs[..., 1, :])
        half *= 2
    return result


def orthogonal_sums(counts: Integers, field: int, dimension: int) -> Integers:
    """Return int64 (K,): for each point the sum of `counts` (K,) over the points orthogonal to it.

    `field` is the prime r and `dimension` is t >= 1. Raises PrecisionLost if sums are too large to
    be exact.
    """
    sums = np.empty_like(counts)
    free = np.int64(0)
    for t in range(dimension, 0, -1):
        start = _first_point(field, t - 1)
        if t == 1:
            sums[0] = free
            break
        by_line = _by_line(counts, field, t)
        sums[start : start + field ** (t - 1)] = _leading(by_line, field, t) + free
        free += counts[start]
        counts = by_line.sum(axis=1)
    return sums


def _first_point(field: int, following: int) -> int:
    """Return the first point whose leading 1 is followed by this many coordinates."""
    return int(field**following - 1) // (field - 1)


def _multiples(field: int, length: int) -> Integers:
    """Return (points, r - 1): vector s u of F_r^length, as a number in base r, for s = 1, 2 ..."""
    scalars = np.arange(1, field, dtype=np.int64)
    multiples = np.zeros((_first_point(field, length), field - 1), dtype=np.int64)
    for following in range(length):
        start = _first_point(field, following)
        numbers = np.arange(field**following, dtype=np.int64)
        block = multiples[start : start + field**following]
        block += scalars * field**following
        for place in range(following):
            digits = numbers // field**place % field
            block += digits[:, None] * scalars % field * field**place
    return multiples


def _by_line(counts: Integers, field: int, t: int) -> Integers:
    """Return c[u, y0], (points of one dimension less, r), without the point (1, 0, ..., 0)."""
    lines = _first_point(field, t - 1)
    by_line = np.empty((lines, field), dtype=np.int64)
    by_line[:, 0] = counts[:lines]
    multiples = _multiples(field, t - 1)
    for y0 in range(1, field):
        by_line[:, y0] = counts[lines + multiples[:, pow(y0, -1, field) - 1]]
    return by_line


def _leading(by_line: Integers, field: int, t: int) -> Integers:
    """Return the sums of the points (1, w), in their order, int64 (r^(t - 1),)."""
    spectrum = fft(by_line.astype(np.float64), axis=1)
    slices = np.empty(field ** (t - 1), dtype=np.complex128)
    slices[0] = reports = int(by_line.sum())
    slices[_multiples(field, t - 1)] = spectrum[:, 1:]
    raw = fftn(slices.reshape((field,) * (t - 1))).real.ravel() / field
    rounded = np.rint(raw)
    if reports > _MOST_REPORTS or np.abs(raw - rounded).max() > _ROUNDING:
        raise PrecisionLost(reports)
    return rounded.astype(np.int64)
