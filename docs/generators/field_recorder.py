"""Which fields a registry may have, learnt by watching the code that reads one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from rumor_shared.epsilon import format_micro
from rumor_shared.fields import MAX_EPSILON, MIN_EPSILON, Fields


@dataclass(frozen=True)
class Field:
    """What a field takes, and what holds where it is absent (None: it must be given)."""

    key: str
    takes: str
    absent: str | None


class FieldRecorder(Fields):
    """Reads a table as `Fields` does, and keeps what was asked for in `found`, by path and key."""

    found: dict[tuple[str, str], Field]

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        super().__init__(table, path)
        self._where = path
        self._depth = 0
        self._guarded: set[str] = set()

    def has(self, key: str) -> bool:
        """Note that the field may be absent, where the question is the reader's own."""
        if not self._depth:
            self._guarded.add(key)
        return super().has(key)

    def text(self, key: str, default: str | None = None) -> str:
        """Record a text."""
        return str(self._watch(key, "text", default, super().text, key, default))

    def slug(self, key: str, default: str | None = None) -> str:
        """Record a name."""
        takes = "a name: a-z, 0-9, _ . -"
        return str(self._watch(key, takes, default, super().slug, key, default))

    def flag(self, key: str, default: bool) -> bool:
        """Record a flag."""
        shown = str(default).lower()
        return bool(self._watch(key, "true or false", shown, super().flag, key, default))

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Record an integer with its bounds."""
        takes = f"an integer, {low} to {_power(high)}"
        shown = _plain(default)
        return int(self._watch(key, takes, shown, super().integer, key, low, high, default))

    def power_of_two(self, key: str, high: int, default: int | None = None) -> int:
        """Record a power of two with its bound."""
        takes = f"a power of two, 1 to {_power(high)}"
        return int(
            self._watch(key, takes, _plain(default), super().power_of_two, key, high, default)
        )

    def epsilon(self, key: str, high: int = MAX_EPSILON, default: int | None = None) -> int:
        """Record an epsilon with its bounds."""
        takes = f"an epsilon, {format_micro(MIN_EPSILON)} to {format_micro(high)}, six decimals"
        shown = None if default is None else format_micro(default)
        return int(self._watch(key, takes, shown, super().epsilon, key, high, default))

    def probability(self, key: str) -> Fraction:
        """Record a probability."""
        found = self._watch(key, "a probability, 0 to 1", None, super().probability, key)
        assert isinstance(found, Fraction)  # noqa: S101 - what it returns
        return found

    def day(self, key: str) -> date:
        """Record a date."""
        found = self._watch(key, "a date, YYYY-MM-DD", None, super().day, key)
        assert isinstance(found, date)  # noqa: S101 - what it returns
        return found

    def texts(self, key: str, low: int, high: int) -> tuple[str, ...]:
        """Record a list of texts with its bounds."""
        takes = f"a list of {low} to {_power(high)} texts" if low < high else f"{low} texts"
        found: tuple[str, ...] = self._watch(key, takes, None, super().texts, key, low, high)
        return found

    def _watch(self, key: str, takes: str, absent: str | None, read: Any, *words: Any) -> Any:
        """Keep what one question of the reader's takes; those it leads to are not its own."""
        if not self._depth:
            if absent is None and key in self._guarded:
                absent = ""
            self.found.setdefault((self._where, key), Field(key, takes, absent))
        self._depth += 1
        try:
            return read(*words)
        finally:
            self._depth -= 1


def recorder() -> type[FieldRecorder]:
    """Return a class of recorders that share one `found`."""
    return type("Recorder", (FieldRecorder,), {"found": {}})


def absent_as(field: Field, words: str) -> Field:
    """Return the field with words for what holds where it is absent."""
    return replace(field, absent=words)


def _plain(number: int | None) -> str | None:
    return None if number is None else str(number)


def _power(number: int) -> str:
    """Return a bound as people write it: beyond a million as a power of two."""
    if number > 10**6:
        for value, shown in ((number, ""), (number + 1, " - 1")):
            if value & (value - 1) == 0:
                return f"2^{value.bit_length() - 1}{shown}"
    return f"{number:,}" if number >= 10_000 else str(number)
