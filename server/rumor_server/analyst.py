"""The Python reader of the query API under its public name: `from rumor_server import analyst`."""

from __future__ import annotations

from rumor_server.reader import (
    QueryFailed,
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
