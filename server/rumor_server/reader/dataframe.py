"""Estimates as pandas DataFrames, from a running collector or from its database file.

    from rumor_server import analyst

    frame = analyst.read_estimates("http://localhost:8000", "theme")
    frame.sort_values("frequency", ascending=False)[["frequency", "std_error", "low", "high"]]

pandas is not among the collector's own needs: `pip install pandas`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumor_server.reader.asking import QueryFailed, ask, ask_metrics
from rumor_shared.errors import UnknownMetric

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QueryFailed", "read_estimates", "read_metrics"]

_TEXT = {"value", "mechanism"}
_WHOLE = {"n", "revision"}


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
    asked = {"from": first, "to": last, "revision": revision, "alpha": alpha}
    given = {name: value for name, value in asked.items() if value is not None}
    if _is_address(source):
        page = ask(str(source), metric, given, candidates, key)
    else:
        page = _estimates_of(Path(source), metric, given, candidates)
    rows = page.pop("rows")
    return _frame(rows, page)


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


def _is_address(source: str | Path) -> bool:
    return isinstance(source, str) and "://" in source


def _estimates_of(
    database: Path, metric: str, asked: Mapping[str, Any], candidates: Sequence[str] | None
) -> dict[str, Any]:
    """Return what the collector on this file would answer."""
    from rumor_server.errors import BadRequest
    from rumor_server.queries.service import release
    from rumor_server.settings import Settings
    from rumor_server.statistics.authenticity.report_weights import read_shapes
    from rumor_server.storage.operator_tables import Control
    from rumor_server.storage.sqlite.store import SqliteStore

    if not database.is_file():
        raise QueryFailed(f"{database}: there is no such file; give a database or an address")
    with (
        closing(SqliteStore(database)) as store,
        closing(Control(Settings(database=database))) as control,
    ):
        try:
            page = release(
                store,
                metric,
                first=_day("first", asked.get("from")),
                last=_day("last", asked.get("to")),
                revision=asked.get("revision"),
                candidates=candidates,
                alpha=asked["alpha"],
                shapes=partial(read_shapes, control),
            )
        except UnknownMetric:
            raise QueryFailed("metric: no registry ever declared it or this revision") from None
        except BadRequest as error:
            raise QueryFailed(error.detail) from None
    answer: dict[str, Any] = json.loads(page.model_dump_json())
    return answer


def _day(name: str, day: date | str | None) -> date | None:
    try:
        return date.fromisoformat(day) if isinstance(day, str) else day
    except ValueError:
        raise QueryFailed(f"{name}: is not a day; write YYYY-MM-DD") from None


def _frame(rows: list[dict[str, Any]], about: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    from rumor_server.queries.service import Row

    # By name, so that a frame without a row has the columns and types of any other.
    kinds = {
        name: "boolean"
        if name == "significant"
        else "str"
        if name in _TEXT
        else "int64"
        if name in _WHOLE
        else "float64"
        for name in Row.model_fields
    }
    frame = pd.DataFrame(rows, columns=list(kinds)).astype(kinds).set_index("value")
    frame.attrs.update(about)
    return frame
