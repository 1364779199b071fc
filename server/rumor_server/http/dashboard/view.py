"""What a page shows, as its address says it: read strictly, and written in one shortest form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from rumor_server.errors import BadRequest
from rumor_server.http.parameters import number, whole
from rumor_server.queries.comparison import Of
from rumor_server.queries.question import DEFAULT_ALPHA, LEAST_ALPHA, overlap
from rumor_shared.days import parse_day
from rumor_shared.metric import MAX_REVISION
from rumor_shared.text import MAX_TEXT_BYTES

# More bars than this are no picture any more; the table goes on where the chart ends.
MAX_TOP = 100
# Six panels of a trend are what a screen holds.
MAX_FOLLOWED = 6
# 10^5 candidates at 50 rows a page.
_MAX_PAGE = 2000
_YES = "yes"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Sort(StrEnum):
    """The order of the table; a minus puts the largest first."""

    FREQUENCY_DOWN = "-frequency"
    FREQUENCY = "frequency"
    VALUE = "value"
    VALUE_DOWN = "-value"
    POST_PROCESSED_DOWN = "-post_processed"
    POST_PROCESSED = "post_processed"
    STD_ERROR_DOWN = "-std_error"
    STD_ERROR = "std_error"
    P_VALUE = "p_value"
    P_VALUE_DOWN = "-p_value"

    @property
    def column(self) -> str:
        """What is sorted by."""
        return self.value.lstrip("-")

    @property
    def down(self) -> bool:
        """Whether the largest comes first."""
        return self.value.startswith("-")


class Part(StrEnum):
    """Which table CSV holds; JSON holds all of them."""

    VALUES = "values"
    TREND = "trend"
    COMPARISON = "comparison"


@dataclass(frozen=True)
class View:
    """One permalink. Days are UTC days, inclusive; None means without a bound.

    `candidates` is the SHA-256 of a stored list, `followed` the values whose trend is drawn (the
    commonest if there are none), `shows` a difference in percentage points. `trend` asks for a
    trend that takes long, `of` for a comparison of the population or of these very devices.
    """

    first: date | None = None
    last: date | None = None
    before_first: date | None = None
    before_last: date | None = None
    revision: int | None = None
    alpha: float = DEFAULT_ALPHA
    candidates: str | None = None
    top: int = 20
    sort: Sort = Sort.FREQUENCY_DOWN
    page: int = 1
    find: str = ""
    followed: tuple[str, ...] = ()
    shows: float | None = None
    trend: bool = False
    of: Of = Of.POPULATION
    part: Part = Part.VALUES

    @property
    def compares(self) -> bool:
        """Whether a second period is asked for."""
        return self.before_first is not None or self.before_last is not None

    def pairs(self) -> list[tuple[str, str]]:
        """Return the parameters of this view; what is default is left out."""
        pairs: list[tuple[str, str]] = []
        for name, field in _FIELDS.items():
            value = getattr(self, field)
            if field == "followed":
                pairs += [(name, text) for text in value]
            elif field == "shows" and value is not None:
                pairs.append((name, str(value).removesuffix(".0")))
            elif value is True:
                pairs.append((name, _YES))
            elif value != _DEFAULTS[field]:
                pairs.append((name, str(value)))
        return pairs

    def query(self, **changes: Any) -> str:
        """Return the query of this view with some fields changed."""
        return urlencode(replace(self, **changes).pairs())


# The name in an address, and the field it sets. The order is that of every permalink.
_FIELDS: Mapping[str, str] = {
    "from": "first",
    "to": "last",
    "compare_from": "before_first",
    "compare_to": "before_last",
    "revision": "revision",
    "alpha": "alpha",
    "candidates": "candidates",
    "top": "top",
    "sort": "sort",
    "page": "page",
    "find": "find",
    "value": "followed",
    "shows": "shows",
    "trend": "trend",
    "of": "of",
    "part": "part",
}
_DEFAULTS = {field: getattr(View(), field) for field in _FIELDS.values()}


def parse_view(pairs: Iterable[tuple[str, str]]) -> View:
    """Return the view of a query's pairs; an empty text, as forms send it, means not given.

    Raises BadRequest naming the parameter that is unknown, repeated or no such thing.
    """
    given: dict[str, Any] = {}
    followed: list[str] = []
    for name, text in pairs:
        if name not in _FIELDS:
            raise BadRequest("query: holds a parameter that this page doesn't know; remove it")
        if not text:
            continue
        if name == "value":
            followed.append(text)
        elif name in given:
            raise BadRequest(f"query.{name}: is given twice; give it once")
        else:
            given[name] = text
    followed = list(dict.fromkeys(followed))
    if len(followed) > MAX_FOLLOWED:
        raise BadRequest(f"query.value: is given too often; give at most {MAX_FOLLOWED}")
    fields = {_FIELDS[name]: _read(name, text) for name, text in given.items()}
    view = View(followed=tuple(followed), **fields)
    _check_days(view)
    return view


def _check_days(view: View) -> None:
    if view.first and view.last and view.first > view.last:
        raise BadRequest("query.from: is after `to`; swap them")
    if view.compares:
        if view.before_first is None or view.before_last is None:
            raise BadRequest(
                "query.compare_from: a comparison needs `compare_from` and `compare_to`"
            )
        if view.before_first > view.before_last:
            raise BadRequest("query.compare_from: is after `compare_to`; swap them")
        if overlap(view.first, view.last, view.before_first, view.before_last):
            raise BadRequest(
                "query.compare_to: both periods share days; give `from` and `to` so that they "
                "don't overlap",
            )


def _read(name: str, text: str) -> Any:
    reader, expected = _READERS[name]
    try:
        return reader(text)
    except (ValueError, OverflowError):
        raise BadRequest(f"query.{name}: {expected}") from None


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = whole(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return read


def _alpha(text: str) -> float:
    value = number(text)
    if not LEAST_ALPHA <= value < 1:
        raise ValueError
    return value


def _points(text: str) -> float:
    points = number(text.replace(",", "."))
    if not 0 < points <= 100:
        raise ValueError
    return points


def _yes(text: str) -> bool:
    if text != _YES:
        raise ValueError
    return True


def _sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise ValueError
    return text


def _text(text: str) -> str:
    if len(text) > MAX_TEXT_BYTES:
        raise ValueError
    return text


_DAY = (parse_day, "is not a day; write YYYY-MM-DD")
_READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "from": _DAY,
    "to": _DAY,
    "compare_from": _DAY,
    "compare_to": _DAY,
    "revision": (
        _whole(1, MAX_REVISION),
        "is not a revision; write a whole number from 1",
    ),
    "alpha": (_alpha, f"is not from {LEAST_ALPHA:g} to 1; write a number such as 0.05"),
    "candidates": (_sha256, "is not the SHA-256 of a list; upload the list to get one"),
    "top": (_whole(1, MAX_TOP), f"is not a number of bars; write 1 to {MAX_TOP}"),
    "sort": (Sort, f"is not an order; choose one of {', '.join(Sort)}"),
    "page": (_whole(1, _MAX_PAGE), f"is not a page; write 1 to {_MAX_PAGE}"),
    "find": (_text, f"is too long; write at most {MAX_TEXT_BYTES} characters"),
    "shows": (_points, "is not a difference; write percentage points such as 2"),
    "trend": (_yes, f"is not a choice; write {_YES} or leave it out"),
    "of": (Of, f"is not whose change is asked for; choose one of {', '.join(Of)}"),
    "part": (Part, f"is not a part; choose one of {', '.join(Part)}"),
}
