"""Are two counts from one binomial rate? A test that holds for few reports, and for many.

Conditioned on their sum, the smaller side's count is hypergeometric, whatever the common rate
(Fisher). Half of the observed count's own probability is left out ("mid-p", Lancaster 1961) but
where hardly any count is expected: the full test is conservative, the halved one may then call .059
of equal pairs different at .05. With many counts both agree with the normal test of the pooled
rate, which is used there.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr

from rumor_server.statistics.estimates import Floats

# Counts expected on the smaller side below this are skewed enough to need their exact law: beyond,
# a familywise error of .05 over 1,000 values moves by less than .005.
_SMALL_COUNT = 400
# Below, the full test; mid-p errs by less than .005 above (binary, 50 devices against 20,000).
_FEW = 20
# Cells of one table of (value, count of the smaller side): 16 MiB of float64.
_TABLE = 1 << 21


def two_sample_p_value(first: Floats, n: int, second: Floats, m: int) -> Floats:
    """Return two-sided p-values of equal rates, of `first` among n and `second` among m; (k,)."""
    if n > m:
        return two_sample_p_value(second, m, first, n)
    total = first + second
    rate = total / (n + m)
    spread = np.sqrt(rate * (1 - rate) * (1 / n + 1 / m))
    gap = np.abs(first / n - second / m)
    normal = 2 * ndtr(-np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0))
    # A rate above 1/2 is judged by the reports that do not support: they are the fewer.
    rare = rate <= 0.5
    expected = n * np.minimum(rate, 1 - rate)
    small = np.flatnonzero(expected < _SMALL_COUNT)
    count = np.where(rare, first, n - first)[small]
    drawn = np.where(rare, total, n + m - total)[small]
    pairs, place = np.unique(np.stack([count, drawn]), axis=1, return_inverse=True)
    normal[small] = _conditional(pairs[0], pairs[1], n, m)[place.ravel()]
    return np.asarray(normal)


def _conditional(count: Floats, drawn: Floats, n: int, m: int) -> Floats:
    """Return twice the smaller tail of X at `count`, where X of `drawn` reports fall among n.

    The others fall among m. The tail takes its end in whole or by half.
    """
    p_value = np.empty_like(count)
    most = n * (drawn / (n + m))
    width = int(max((most + 10 * np.sqrt(most) + 50).max(initial=0), count.max(initial=0) + 50)) + 1
    step = max(1, _TABLE // width)
    x = np.arange(width, dtype=np.float64)
    for start in range(0, len(count), step):
        part = slice(start, start + step)
        t, c = drawn[part, None], count[part, None]
        possible = (x <= np.minimum(n, t)) & (t - x <= m)
        inside, rest = np.where(possible, x, 0), np.where(possible, t - x, 0)
        log = -(
            gammaln(inside + 1)
            + gammaln(n - inside + 1)
            + gammaln(rest + 1)
            + gammaln(m - rest + 1)
        )
        log = np.where(possible, log, -np.inf)
        law = np.exp(log - log.max(axis=1, keepdims=True))
        law /= law.sum(axis=1, keepdims=True)
        part_of_own = np.where(most[part] < _FEW, 1.0, 0.5)
        own = np.where(x == c, law, 0).sum(axis=1) * part_of_own
        below = np.where(x < c, law, 0).sum(axis=1) + own
        above = np.where(x > c, law, 0).sum(axis=1) + own
        p_value[part] = np.minimum(1, 2 * np.minimum(below, above))
    return p_value
