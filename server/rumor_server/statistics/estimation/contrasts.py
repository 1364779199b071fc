"""Is one value commoner than another? Differences of two shares of one tally.

The answer is about the population that the devices are a sample of; of these devices themselves it
is true as well, and cautious. Where devices report on several days with fresh noise, it speaks of
the reports. Of a memoised metric take one report a device: repeated noise is one noise.

Given that M reports support exactly one of two values, each sign is even where the shares are
equal, so the number in favour of A is Bin(M, 1/2): the sign test, *exact* for a sample and never
too small for a fixed population. (There the signs of those who have A lean one way and of those who
have B the other; that count is a sum of M independent unequal coins of mean 1/2, and Hoeffding 1956
bounds its tails by the binomial's.) M is known under krr, where it is C_A + C_B, and where reports
can be counted by their output (hadamard, pgr). Else M <= min(C_A + C_B, 2n - C_A - C_B), and the
test with that many signs is still valid, since the tail of a walk grows with its steps.

Bits that are set often make that bound wide. Where it would lose a twentieth of the sharpness and
the difference is well spread, its *normal* law is used, with the variance n P[exactly one] that
the joint law of the two supports gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, ndtr

from rumor_server.statistics.estimates import Bools, Floats
from rumor_server.statistics.estimation.pair_support import PairSupport
from rumor_server.statistics.intervals.count_law import Counts
from rumor_server.statistics.intervals.significance import check_alpha, quantile

# From this variance on, tails of a symmetric sum as far as 5.5 sd are normal within a fifth.
_NORMAL_FROM = 200.0
# The sign test of a bound on M serves where it is this near to the true variance: 5% in width.
_NEARLY_SHARP = 0.9
# All pairs of so many values take tables of 32 MiB; more are ranked by their intervals.
MOST_VALUES = 2048
# A bracket of [-1, 1] is then shorter than 2^-44.
_HALVINGS = 45


@dataclass(frozen=True, eq=False)
class Contrast:
    """By how much the share of A exceeds that of B, an entry a pair; shares of 1.

    `p_value` is two-sided, of equal shares, for each pair alone; `exact` marks sign tests. The
    interval excludes 0 just where p_value is at most alpha / comparisons.
    """

    difference: Floats
    std_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    exact: Bools


def contrast(
    a: Counts,
    b: Counts,
    n: int,
    law: PairSupport,
    *,
    alpha: float,
    comparisons: int = 1,
    discordant: Counts | None = None,
) -> Contrast:
    """Estimate f_A - f_B for each pair of counts; a, b (pairs,) are supports among n reports.

    `comparisons` is over how many pairs the intervals hold at once (Bonferroni): all k (k - 1) / 2
    where the two were chosen by looking. `discordant` says how many reports support exactly one of
    the two, if it is known beyond what the law tells. Raises ValueError for n = 0 and an alpha
    outside (0, 1).
    """
    check_alpha(alpha)
    _check_reports(n)
    scale = n * float(law.p - law.q)
    ahead = a - b
    spread, known = _discordance(a, b, n, law, discordant)
    one_sided, exact = _tails(np.abs(ahead), spread, known)
    p_value = np.minimum(1, 2 * one_sided)
    ends = _score_bounds(ahead, spread, n, quantile(alpha, comparisons))
    difference, first, second = ahead / scale, ends[0] * n / scale, ends[1] * n / scale
    low, high = _agree(
        np.minimum(first, second),
        np.maximum(first, second),
        difference,
        p_value,
        alpha / comparisons,
    )
    std_error = np.sqrt(np.maximum(spread - np.square(ahead) / n, 0)) / abs(scale)
    return Contrast(difference, std_error, low, high, p_value, exact)


def pairwise_p_values(
    counts: Counts,
    n: int,
    law: PairSupport,
    *,
    alpha: float,
    discordant: Counts | None = None,
) -> Floats:
    """Return (k, k) one-sided p-values: at [A, B] of "A's share is at most B's".

    For decisions at familywise rates up to `alpha` over all k (k - 1) of them: entries that can
    decide nothing are 1, and those beyond doubt are told by Hoeffding's bound exp(-d^2 / 2M), which
    is never below the exact tail. `discordant` (k, k) as in `contrast`.

    Raises ValueError as `contrast`, and for more than 2,048 values: use `ranks_of_intervals` there.
    """
    check_alpha(alpha)
    _check_reports(n)
    if len(counts) > MOST_VALUES:
        raise ValueError(f"counts: more than {MOST_VALUES} values; rank them by their intervals")
    ahead = counts[:, None] - counts[None, :]
    if law.p < law.q:
        ahead = -ahead
    spread, known = _discordance(counts[:, None], counts[None, :], n, law, discordant)
    tests = max(1, len(counts) * (len(counts) - 1))
    square = np.square(ahead) / np.maximum(np.maximum(spread, known), 1)
    p_value = np.where(ahead > 0, np.exp(-square / 2), 1.0)
    open_ = (ahead > 0) & (p_value > alpha / tests)
    # One-sided tails above twice alpha: no test at alpha ends there.
    sharpest = np.square(ahead[open_]) / np.maximum(np.minimum(spread, known)[open_], 1)
    hopeless = ndtr(-np.sqrt(sharpest)) > 2 * alpha
    tail = np.ones(hopeless.shape)
    rest = np.flatnonzero(open_)[~hopeless]
    tail[~hopeless] = _tails(ahead.flat[rest], spread.flat[rest], known.flat[rest])[0]
    p_value[open_] = tail
    return p_value


def normal_p_values(frequency: Floats, covariance: Floats) -> Floats:
    """Return (k, k) one-sided p-values from shares and their covariance: normal, for any mechanism.

    For sketches (local_hashing, cms), whose regression tells the covariance of its shares.
    """
    variance = np.diag(covariance)
    spread = np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0)
    ahead = frequency[:, None] - frequency[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = ndtr(-ahead / np.sqrt(spread))
    # Two values that are one (their estimates are equal for certain) are not in order.
    return np.where(np.isnan(p_value), 1.0, p_value)


def _check_reports(n: int) -> None:
    if n < 1:
        raise ValueError("n: is less than 1; there is no difference before the first report")


def _discordance(
    a: Counts, b: Counts, n: int, law: PairSupport, discordant: Counts | None
) -> tuple[Floats, Floats]:
    """Return the expected number of reports that support exactly one, and a bound or the number."""
    total = (a + b).astype(np.float64)
    if discordant is None and law.own == law.p + law.q and law.other == 2 * law.q:
        return total, total
    if discordant is not None:
        exactly = discordant.astype(np.float64)
        return exactly, exactly
    share = (total / n - 2 * float(law.q)) / float(law.p - law.q)
    own, other = float(law.own), float(law.other)
    expected = n * (other + (own - other) * np.clip(share, 0, 1))
    bound = np.minimum(total, 2 * n - total)
    return np.clip(expected, np.abs(a - b), np.maximum(bound, 0)), bound


def _tails(ahead: Counts, spread: Floats, signs: Floats) -> tuple[Floats, Bools]:
    """Return P[as far ahead or further] of equal shares, and where it is the exact sign test."""
    exact = (spread < _NORMAL_FROM) | (spread >= _NEARLY_SHARP * signs)
    tail = np.empty(ahead.shape)
    favour, against = (signs + ahead)[exact] / 2, (signs - ahead)[exact] / 2
    # The binomial's upper tail from c on is the incomplete beta function of c and M - c + 1.
    tail[exact] = np.where(favour > 0, betainc(np.maximum(favour, 0.5), against + 1, 0.5), 1.0)
    rest = ~exact
    tail[rest] = ndtr(-(ahead[rest] - 0.5) / np.sqrt(spread[rest]))
    return tail, exact


def _score_bounds(ahead: Counts, spread: Floats, n: int, z: float) -> tuple[Floats, Floats]:
    """Return bounds of P[A alone] - P[B alone] by the score test of a paired difference.

    Tango (1998): each difference is judged with the discordance that is likeliest under it, so
    that the interval holds for few reports as well.
    """
    favour, against = (spread + ahead) / 2, (spread - ahead) / 2
    at = ahead / n
    bounds = []
    for sign in (-1.0, 1.0):
        kept, out = at.copy(), np.full(at.shape, sign)
        for _ in range(_HALVINGS):
            middle = (kept + out) / 2
            excluded = np.abs(ahead - n * middle) > z * _spread_at(middle, favour, against, n)
            out = np.where(excluded, middle, out)
            kept = np.where(excluded, kept, middle)
        bounds.append(out)
    return bounds[0], bounds[1]


def _spread_at(difference: Floats, favour: Floats, against: Floats, n: int) -> Floats:
    """Return the sd of C_A - C_B where the difference is so, at its likeliest discordance."""
    lead = 2 * n
    half = -favour - against + (lead - favour + against) * difference
    rest = -against * difference * (1 - difference)
    least = (np.sqrt(np.maximum(half * half - 4 * lead * rest, 0)) - half) / (2 * lead)
    return np.sqrt(np.maximum(n * (2 * least + difference * (1 - difference)), 0))


def _agree(
    low: Floats, high: Floats, difference: Floats, p_value: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Let the test of equal shares judge 0, and with it all differences of the other sign."""
    equal = p_value > alpha
    low = np.where(equal, np.minimum(low, 0), np.where(difference > 0, np.maximum(low, 0), low))
    high = np.where(equal, np.maximum(high, 0), np.where(difference < 0, np.minimum(high, 0), high))
    return low, high
