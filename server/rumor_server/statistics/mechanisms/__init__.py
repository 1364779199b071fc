"""Every mechanism in the collector: payloads to a tally, a tally to an answer.

Read `estimator` (what a mechanism's part does), then one of them, such as `krr`; `table` finds it
by its name, and `answers` is what the rest of the collector calls.
"""

from rumor_server.statistics.mechanisms.answers import estimate_metric, group, tally_of

__all__ = ["estimate_metric", "group", "tally_of"]
