"""Estimates as pandas DataFrames, from a running collector or from its database file.

    from rumor_server import analyst

    frame = analyst.read_estimates("http://localhost:8000", "theme")
    frame.sort_values("frequency", ascending=False)[["frequency", "std_error", "low", "high"]]

pandas is not among the collector's own needs: `pip install pandas`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumor_server.reader.collector_api import QueryFailed, ask, ask_metrics, ask_periods
from rumor_server.reader.database import ask_database

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "QueryFailed",
    "read_comparison",
    "read_estimates",
    "read_metrics",
    "read_ranks",
    "read_trend",
    "read_watch",
]

# pandas' type of each column, in order: the fields of the server's row, which a test compares.
COLUMNS = {
    "value": "str",
    "estimate": "float64",
    "frequency": "float64",
    "std_error": "float64",
    "low": "float64",
    "high": "float64",
    "simultaneous_low": "float64",
    "simultaneous_high": "float64",
    "robust_low": "float64",
    "robust_high": "float64",
    "p_value": "float64",
    "significant": "boolean",
    "n": "int64",
    "epsilon": "float64",
    "mechanism": "str",
    "revision": "int64",
    "post_processed": "float64",
    "possible_low": "float64",
    "possible_high": "float64",
}
# The same of ranks: a rank that nobody knows is NA.
RANK_COLUMNS = {
    "value": "str",
    "best_rank": "Int64",
    "worst_rank": "Int64",
    "frequency": "float64",
    "simultaneous_low": "float64",
    "simultaneous_high": "float64",
    "n": "int64",
}

# The same of a watch.
WATCH_COLUMNS = {
    "value": "str",
    "day": "datetime64[s]",
    "n": "int64",
    "frequency": "float64",
    "low": "float64",
    "high": "float64",
}


def read_estimates(
    source: str | Path,
    metric: str,
    *,
    key: str | None = None,
    first: date | str | None = None,
    last: date | str | None = None,
    revision: int | None = None,
    alpha: float = 0.05,
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the estimates of a metric, a row a value, in the order of the registry.

    `source` is the address of a collector (`http://...`), with an analyst `key` where it asks for
    one, or the path of its SQLite file, in use or not. `first` and `last` are UTC days, inclusive;
    `candidates` are texts to look for in an open domain.

    The index is `value`. `frequency`, `std_error` and all bounds are shares of 1 as float64;
    `frequency` is unbiased and may lie outside [0, 1]. `significant` is pandas' `boolean`. Where
    there is no data, or it is withheld, rows hold NaN and NA. `frame.attrs` has everything else of
    the answer: `status`, `n`, `missing`, `unexplained`, `authenticity`, ...

    Raises QueryFailed with what to do, StoreError for a file that is no database of a collector,
    ModuleNotFoundError without pandas.
    """
    given = _given(first, last, revision, alpha)
    if _is_address(source):
        page = ask(str(source), metric, given, candidates, key)
    else:
        page = ask_database(Path(source), metric, given, candidates)
    return _frame(page.pop("rows"), page, COLUMNS)


def read_ranks(
    source: str | Path,
    metric: str,
    *,
    key: str | None = None,
    first: date | str | None = None,
    last: date | str | None = None,
    revision: int | None = None,
    alpha: float = 0.05,
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the ranks of a metric's values, a row a value, the highest estimate first.

    Asked as `read_estimates`; `candidates` are a few. The rank of every value lies between
    `best_rank` and `worst_rank` at once with probability 1 - alpha, 1 the commonest, so whatever is
    read off them is confirmed: a leader is a value whose worst rank is 1. `frame.attrs` has
    everything else of the answer. Raises as `read_estimates`.
    """
    given = _given(first, last, revision, alpha)
    if _is_address(source):
        page = ask_periods(str(source), metric, "ranks", given, candidates, key)
    else:
        page = ask_database(Path(source), metric, given, candidates, "ranks")
    return _frame(page.pop("rows"), page, RANK_COLUMNS)


def read_watch(
    source: str | Path,
    metric: str,
    *,
    key: str | None = None,
    alpha: float = 0.05,
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the running shares of a metric's newest revision, a row a day and value.

    From its first day on: no window is chosen. The bounds of all values hold on all days together
    with probability 1 - alpha, however often one looks, for the reports that came; `frame.attrs`
    has `asymptotic` and everything else of the answer. The index is `value`. Raises as
    `read_estimates`, also for memoised metrics.
    """
    given = {"alpha": alpha}
    if _is_address(source):
        page = ask_periods(str(source), metric, "watch", given, candidates, key)
    else:
        page = ask_database(Path(source), metric, given, candidates, "watch")
    return _frame(page.pop("rows"), page, WATCH_COLUMNS)


def read_trend(
    source: str,
    metric: str,
    *,
    key: str | None = None,
    first: date | str | None = None,
    last: date | str | None = None,
    revision: int | None = None,
    alpha: float = 0.05,
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return how the shares of a metric moved, a row a value and day (or a few days).

    `source` is the address of a running collector. The index is `first`, the day on which a point
    begins; numbers of days without data or withheld are NaN, `status` says why. Raises QueryFailed.
    """
    asked = {"from": first, "to": last, "revision": revision, "alpha": alpha}
    page = _asked(source, metric, "trend", asked, candidates, key)
    return _periods(page, "first", ("first", "last"))


def read_comparison(
    source: str,
    metric: str,
    *,
    key: str | None = None,
    first: date | str | None = None,
    last: date | str | None = None,
    compare_first: date | str | None = None,
    compare_last: date | str | None = None,
    revision: int | None = None,
    alpha: float = 0.05,
    candidates: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return what changed from another period, a row a value, the largest rise first.

    `source` is the address of a running collector. Without another period it is the one just before
    of the same length. The index is `value`; `frame.attrs` says of what days both are. Raises
    QueryFailed.
    """
    asked = {
        "from": first,
        "to": last,
        "compare_from": compare_first,
        "compare_to": compare_last,
        "revision": revision,
        "alpha": alpha,
    }
    page = _asked(source, metric, "comparison", asked, candidates, key)
    return _periods(page, "value", ())


def read_metrics(source: str | Path, *, key: str | None = None) -> pd.DataFrame:
    """Return every metric of a running collector and what it costs, a row a metric.

    The index is `name`; all epsilon are plain numbers, NaN where nothing bounds them. Raises
    QueryFailed, also for a database file: it doesn't know which registry is in force.
    """
    import pandas as pd

    if not _is_address(source):
        raise QueryFailed("source: a file can't say which registry is in force; give an address")
    frame = pd.DataFrame(ask_metrics(str(source), key)["metrics"]).set_index("name")
    for name in ("expires", "first_day", "last_day"):
        frame[name] = pd.to_datetime(frame[name])
    return frame.astype(dict.fromkeys((c for c in frame if c.find("epsilon") >= 0), "float64"))


def _asked(
    source: str,
    metric: str,
    what: str,
    asked: Mapping[str, object],
    candidates: Sequence[str] | None,
    key: str | None,
) -> dict[str, Any]:
    if not _is_address(source):
        raise QueryFailed("source: is not an address; periods are asked of a running collector")
    given = {name: value for name, value in asked.items() if value is not None}
    return ask_periods(source, metric, what, given, candidates, key)


def _periods(page: dict[str, Any], index: str, days: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(page.pop("rows"))
    for name in days:
        frame[name] = pd.to_datetime(frame[name])
    frame.attrs.update(page)
    return frame.set_index(index) if len(frame) else frame


def _is_address(source: str | Path) -> bool:
    return isinstance(source, str) and "://" in source


def _given(
    first: date | str | None, last: date | str | None, revision: int | None, alpha: float
) -> dict[str, Any]:
    asked = {"from": first, "to": last, "revision": revision, "alpha": alpha}
    return {name: value for name, value in asked.items() if value is not None}


def _frame(
    rows: list[dict[str, Any]], about: dict[str, Any], columns: dict[str, str]
) -> pd.DataFrame:
    import pandas as pd

    # By name, so that a frame without a row has the columns and types of any other.
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns).set_index("value")
    frame.attrs.update(about)
    return frame
