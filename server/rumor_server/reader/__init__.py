"""The Python reader of the query API: estimates as DataFrames, from a collector or from its file.

Read in this order: `collector_api` (asking over HTTP), `database` (asking the same service of a
file), `dataframe` (what they answer as pandas). The public name is `rumor_server.analyst`. Nothing
here needs the server extra at import, and reading over HTTP needs none at all.
"""

from rumor_server.reader.collector_api import QueryFailed
from rumor_server.reader.dataframe import (
    read_comparison,
    read_estimates,
    read_metrics,
    read_ranks,
    read_trend,
    read_watch,
)

__all__ = [
    "QueryFailed",
    "read_comparison",
    "read_estimates",
    "read_metrics",
    "read_ranks",
    "read_trend",
    "read_watch",
]
