"""What an address may say, read as strictly as a body: each parameter once, in one spelling.

Pydantic and Python read far more as a number or a day: 1.0 and 1_0 as integers, seconds since 1970
as a day, the digits of every script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator

from rumor_server.errors import BadRequest
from rumor_shared.days import parse_day

_NUMBER = re.compile(r"(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[0-9]{1,20}")


def whole(text: str) -> int:
    """Return a whole number from 0 in decimal digits. Raises ValueError."""
    if not _WHOLE.fullmatch(text):
        raise ValueError("a whole number is written in digits")
    return int(text)


def number(text: str) -> float:
    """Return a number from 0, such as 0.05 or 5e-2. Raises ValueError."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("a number is written as 0.05")
    return float(text)


def _day(text: object) -> object:
    return parse_day(text) if isinstance(text, str) else text


def _whole(text: object) -> object:
    return whole(text) if isinstance(text, str) else text


def _number(text: object) -> object:
    return number(text) if isinstance(text, str) else text


Day = Annotated[date, BeforeValidator(_day)]
Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]


def refuse_repeats(given: Iterable[str], once: Collection[str]) -> None:
    """Raise BadRequest for a name of `once` that is given twice: one would silently win."""
    counted = Counter(given)
    for name in once:
        if counted[name] > 1:
            raise BadRequest(f"query.{name}: is given twice; give it once")
