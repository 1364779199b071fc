"""Shares that look like shares, to stand beside the raw estimates and never instead of them.

Each is closer to the truth in some sense and biased in every sense: no interval belongs to it.
Which to use: `norm_sub` for whole histograms and sums, `simplex_mle` where errors differ,
`power_ns` where shares follow a power law, `base_cut` to list only what is surely there, the raw
values for single common items. To divide clipped values by their sum is not offered: a point mass
of 1 among 100 values comes out as .16 at epsilon 1.
"""

from rumor_server.statistics.postprocessing.base_cut import base_cut
from rumor_server.statistics.postprocessing.norm_sub import norm_sub
from rumor_server.statistics.postprocessing.power_ns import power_ns
from rumor_server.statistics.postprocessing.simplex_mle import simplex_mle

__all__ = ["base_cut", "norm_sub", "power_ns", "simplex_mle"]
