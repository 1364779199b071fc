"""From tallies to estimates: debiased frequencies, their errors, and what may be said of them.

Read `pure` (support counts to shares) and `normal_estimates` (sums of many small parts); then what
is made of estimates: `combination` (reports under different noise), `grouping` (sums of values),
`comparison` (what changed), `homogeneity` (whether segments are alike), `weighting` (to a known
population), `robust` (although some are fakes). An order of values: `pair_support`, `contrasts`,
`ranks`; one sentence: `headline`; every day: `daily_watch`.
"""

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.combination import CombinationError, combine
from rumor_server.statistics.estimation.comparison import Change, ComparisonError, Of, compare
from rumor_server.statistics.estimation.grouping import GroupError
from rumor_server.statistics.intervals.significance import benjamini_hochberg, bonferroni
from rumor_server.statistics.postprocessing import base_cut, norm_sub, power_ns, simplex_mle

__all__ = [
    "Change",
    "CombinationError",
    "ComparisonError",
    "Estimates",
    "GroupError",
    "Of",
    "base_cut",
    "benjamini_hochberg",
    "bonferroni",
    "combine",
    "compare",
    "norm_sub",
    "power_ns",
    "simplex_mle",
]
