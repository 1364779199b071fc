"""From tallies to estimates: debiased frequencies, their errors, and what may be said of them."""

from rumor_server.estimation.combination import CombinationError, combine
from rumor_server.estimation.comparison import Change, ComparisonError, compare
from rumor_server.estimation.dispatch import estimate_metric, group
from rumor_server.estimation.estimates import Estimates
from rumor_server.estimation.grouping import GroupError
from rumor_server.estimation.postprocessing import base_cut, norm_sub, power_ns, simplex_mle
from rumor_server.estimation.significance import benjamini_hochberg, bonferroni

__all__ = [
    "Change",
    "CombinationError",
    "ComparisonError",
    "Estimates",
    "GroupError",
    "base_cut",
    "benjamini_hochberg",
    "bonferroni",
    "combine",
    "compare",
    "estimate_metric",
    "group",
    "norm_sub",
    "power_ns",
    "simplex_mle",
]
