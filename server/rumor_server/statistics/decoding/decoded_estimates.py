"""What a decode found, as estimates: the one reading of a `DecodedSketch` for all mechanisms."""

from __future__ import annotations

import numpy as np

from rumor_server.statistics.decoding import DecodedSketch
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.intervals.significance import quantile
from rumor_server.statistics.noise import Noise


def decoded_estimates(
    values: tuple[str, ...], n: int, alpha: float, decoded: DecodedSketch | None, *, closed: bool
) -> Estimates:
    """Return the estimates of `values` from a decode of n reports; None is a decode of no report.

    A closed domain leaves nothing unexplained.
    """
    if decoded is None:
        return Estimates.empty(values, alpha)
    wide = quantile(alpha, len(values)) * decoded.std_error
    return Estimates(
        values=values,
        n=n,
        alpha=alpha,
        frequency=decoded.estimate,
        std_error=decoded.std_error,
        low=decoded.low,
        high=decoded.high,
        simultaneous_low=decoded.estimate - wide,
        simultaneous_high=decoded.estimate + wide,
        p_value=decoded.p_value,
        significant=decoded.selected,
        unexplained=None if closed else decoded.unexplained,
        unexplained_std_error=None if closed else decoded.unexplained_std_error,
        noise=Noise(np.square(decoded.std_error), np.zeros_like(decoded.std_error), n),
    )
