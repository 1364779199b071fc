"""Asking a collector's SQLite file, in use or not, what the collector on it would answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rumor_server.reader.collector_api import QueryFailed
from rumor_shared.errors import UnknownMetric


def ask_database(
    database: Path,
    metric: str,
    asked: Mapping[str, Any],
    candidates: Sequence[str] | None,
    what: Literal["estimates", "ranks", "watch"] = "estimates",
) -> dict[str, Any]:
    """Return what is asked of a metric as the collector would answer it. Raises QueryFailed."""
    from pydantic import BaseModel

    from rumor_server.errors import BadRequest
    from rumor_server.queries.service import QueryService
    from rumor_server.settings import Settings
    from rumor_server.storage.operator_tables import Control
    from rumor_server.storage.report_weights import read_weights
    from rumor_server.storage.sqlite.store import SqliteStore

    if not database.is_file():
        raise QueryFailed(f"{database}: there is no such file; give a database or an address")
    with (
        closing(SqliteStore(database)) as store,
        closing(Control(Settings(database=database))) as control,
    ):
        service = QueryService(store, partial(read_weights, control))
        try:
            question = service.question(
                metric,
                revision=asked.get("revision"),
                candidates=candidates,
                alpha=asked["alpha"],
            )
            days = _day("first", asked.get("from")), _day("last", asked.get("to"))
            page: BaseModel
            match what:
                case "estimates":
                    page = service.estimates(question, *days)
                case "ranks":
                    page = service.ranks(question, *days)
                case "watch":
                    page = service.watch(question)
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
