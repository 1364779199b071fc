"""One answer from reports made under different noise, each part debiased by its own (CF-01)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rumor_server.statistics.estimates import Estimates, Floats
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.noise import Noise


class CombinationError(ValueError):
    """The estimates are no parts of one answer."""


def combine(parts: Sequence[Estimates]) -> Estimates:
    """Combine estimates of the same values from disjoint sets of reports.

    A part weighs by the inverse of the variance that a share of 0 has in it, which is known before
    any report is read: weights that follow the reports' own errors favour low estimates, and the
    shares of three days then add up to .92 instead of 1. Parts whose reports support values with
    equal probabilities are one set of reports, with its exact law. Intervals and p-values of others
    are normal approximations. Where the truth moved between the parts, the answer is the same
    weighted mean of all truths. A part without reports has no say; one alone is returned as it is.

    Raises CombinationError for no parts, and for parts whose values (or their order) or alpha
    differ.
    """
    if not parts:
        raise CombinationError("parts: there are none; give at least one")
    first = parts[0]
    if any(part.values != first.values for part in parts):
        raise CombinationError("parts: the values differ; show these revisions side by side")
    if any(part.alpha != first.alpha for part in parts):
        raise CombinationError("parts: alpha differs; estimate every part with the same one")
    counted = [part for part in parts if part.n]
    if len(counted) < 2:
        return counted[0] if counted else first
    noises = [part.noise for part in counted if part.noise is not None]
    if len(noises) < len(counted):
        raise CombinationError("parts: say nothing of their noise; estimate them from tallies")
    added = _added(counted, noises)
    return _weighted(counted, noises) if added is None else added


def _added(parts: list[Estimates], noises: list[Noise]) -> Estimates | None:
    """Return the estimates of all reports together, where one law holds for all counts."""
    support = noises[0].support
    if support is None or any(noise.support != support for noise in noises):
        return None
    p, q = support
    counts = np.zeros(len(parts[0].values), dtype=np.int64)
    for part in parts:
        supports = part.n * (float(q) + float(p - q) * part.frequency)
        counts += np.rint(supports).astype(np.int64)
    return estimate_pure(
        parts[0].values,
        counts,
        sum(part.n for part in parts),
        p,
        q,
        alpha=parts[0].alpha,
        comparisons=parts[0].comparisons,
    )


def _weighted(parts: list[Estimates], noises: list[Noise]) -> Estimates:
    weights = _weights(parts, noises)
    pairs = list(zip(weights, parts, strict=True))
    squares = [weight**2 for weight in weights]
    absent, slope = (
        np.asarray(sum(w * getattr(n, name) for w, n in zip(squares, noises, strict=True)))
        for name in ("absent", "slope")
    )
    frequency: Floats = np.asarray(sum(weight * part.frequency for weight, part in pairs))
    comparisons = 1 if all(part.comparisons == 1 for part in parts) else None
    whole = estimate_normal(
        parts[0].values,
        sum(part.n for part in parts),
        frequency,
        absent,
        slope,
        alpha=parts[0].alpha,
        comparisons=comparisons,
        unexplained=_unexplained(pairs),
    )
    sampling = sum(w / noise.devices for w, noise in zip(squares, noises, strict=True))
    noise = Noise(absent, slope, 1 / sampling, _beforehand(weights, noises))
    return replace(whole, noise=noise)


def _weights(parts: list[Estimates], noises: list[Noise]) -> list[float]:
    """Return weights that add up to 1; parts of unknown noise weigh by their reports."""
    known = [noise.beforehand for noise in noises]
    weights = [float(part.n) for part in parts]
    if all(known):
        weights = [1 / variance for variance in known if variance]
    total = sum(weights)
    return [weight / total for weight in weights]


def _beforehand(weights: list[float], noises: list[Noise]) -> float | None:
    known = [noise.beforehand for noise in noises]
    if None in known:
        return None
    return sum(w * w * (v or 0.0) for w, v in zip(weights, known, strict=True))


def _unexplained(pairs: list[tuple[float, Estimates]]) -> tuple[float, float] | None:
    share = square = 0.0
    for weight, part in pairs:
        if part.unexplained is None or part.unexplained_std_error is None:
            return None
        share += weight * part.unexplained
        square += (weight * part.unexplained_std_error) ** 2
    return share, float(np.sqrt(square))
