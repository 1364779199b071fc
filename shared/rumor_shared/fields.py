"""Read a table of a registry field by field, with the field's path in every error.

A `Fields` hands out typed values and remembers which keys were asked for; `finish` refuses the
rest. TOML floats arrive as `Decimal` (see `registry.load`), so no number of a registry ever passes
through a binary float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from rumor_shared.epsilon import DECIMALS, MICRO
from rumor_shared.errors import Problem, RegistryError
from rumor_shared.text import TextProblem, canonical_bytes, is_canonical

# e**16 is 8.9 million: beyond it a report hides nothing worth the name.
MAX_EPSILON = 16 * MICRO
# At epsilon .001 a million reports have a standard error of 100% of all devices; below it none is
# of use.
MIN_EPSILON = MICRO // 1000

# Eighteen are finer than 2**-59; more would only slow the exact arithmetic.
_PROBABILITY_DECIMALS = 18

_SLUG = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


class Fields:
    """The keys of one TOML table, read once each, with `path` before every name in an error."""

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        self._table = table
        self._path = path
        self._known: set[str] = set()

    def problem(self, key: str, what: str, fix: str) -> NoReturn:
        """Raise RegistryError for the field `key`."""
        raise RegistryError((Problem(self.path(key), what, fix),))

    def path(self, key: str) -> str:
        """Return the full path of `key`."""
        return ".".join(part for part in (self._path, key) if part)

    def has(self, key: str) -> bool:
        """Return whether the table gives `key`, and count it as known."""
        self._known.add(key)
        return key in self._table

    def _take(self, key: str, expected: str) -> Any:
        if not self.has(key):
            self.problem(key, "is missing", f"add {key} = {expected}")
        return self._table[key]

    def finish(self) -> None:
        """Raise RegistryError if the table has keys that nothing asked for, with each of them."""
        problems = [
            Problem(
                self.path(str(key)),
                "is not a known field here",
                nearest(str(key), sorted(self._known)) + "remove it",
            )
            for key in self._table
            if key not in self._known
        ]
        if problems:
            raise RegistryError(tuple(problems))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty NFC text."""
        if default is not None and not self.has(key):
            return default
        return self.check_text(key, self._take(key, '"..."'))

    def check_text(self, key: str, value: object) -> str:
        """Return `value` if it is a non-empty NFC text that UTF-8 can carry."""
        if not isinstance(value, str):
            self.problem(key, f"is {_kind(value)}, not text", "put it in quotes")
        try:
            encoded = canonical_bytes(value)
        except TextProblem as error:
            self.problem(key, error.what, "write it in valid, shorter Unicode")
        if not is_canonical(value):
            self.problem(key, "is not in Unicode form NFC", "save it composed (NFC)")
        if not encoded.strip():
            self.problem(key, "is empty", "give it a text")
        return value

    def slug(self, key: str, default: str | None = None) -> str:
        """Return a name of lower-case letters, digits, `_`, `.` and `-`."""
        value = self.text(key, default)
        if not is_slug(value):
            self.problem(key, "is not a name", "use a-z, 0-9, _ . - and start with a letter")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        if not self.has(key):
            return default
        value = self._table[key]
        if not isinstance(value, bool):
            self.problem(key, f"is {_kind(value)}, not true or false", "write true or false")
        return value

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer in [low, high]."""
        if default is not None and not self.has(key):
            return default
        value = self._take(key, str(low))
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(key, f"is {_kind(value)}, not an integer", f"write {low} to {high}")
        if not low <= value <= high:
            self.problem(key, f"is not in {low} to {high}", f"choose {low} to {high}")
        return value

    def power_of_two(self, key: str, high: int, default: int | None = None) -> int:
        """Return a power of two from 1 to `high`."""
        value = self.integer(key, 1, high, default)
        if value & (value - 1):
            self.problem(key, "is not a power of two", f"choose 1, 2, 4 ... {high}")
        return value

    def number(self, key: str) -> Decimal:
        """Return a finite number, exactly as written."""
        value = self._take(key, "a number")
        if isinstance(value, float):
            value = Decimal(repr(value))
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.problem(key, f"is {_kind(value)}, not a number", "write a plain number")
        exact = Decimal(value)
        if not exact.is_finite():
            self.problem(key, "is not a finite number", "write a plain number")
        return exact

    def epsilon(self, key: str, high: int = MAX_EPSILON, default: int | None = None) -> int:
        """Return an epsilon as micro-epsilon, in (0, high]."""
        if default is not None and not self.has(key):
            return default
        value = self.number(key)
        if value <= 0:
            self.problem(key, "is not above 0", "choose an epsilon such as 1.0")
        if value.adjusted() > 12:
            self.problem(key, "is too large", f"choose at most {high // MICRO}")
        # As a fraction, 1e-999999999 would fill the memory.
        micro = Fraction(value) * MICRO if value.adjusted() >= -DECIMALS else None
        if micro is None or micro.denominator != 1:
            self.problem(key, f"has more than {DECIMALS} decimals", "round it to six decimals")
        if micro > high:
            self.problem(key, f"is above {high // MICRO}", f"choose at most {high // MICRO}")
        if micro < MIN_EPSILON:
            self.problem(key, "is below .001", "choose at least .001; less can't be measured")
        return int(micro)

    def probability(self, key: str) -> Fraction:
        """Return a probability in [0, 1], exactly as written."""
        value = self.number(key)
        if value.adjusted() > 0 or not 0 <= value <= 1:
            self.problem(key, "is not a probability", "choose a number from 0 to 1")
        fine = value == 0 or value.adjusted() >= -_PROBABILITY_DECIMALS
        if not fine or Fraction(value).denominator > 10**_PROBABILITY_DECIMALS:
            self.problem(key, f"has more than {_PROBABILITY_DECIMALS} decimals", "round it")
        return Fraction(value)

    def day(self, key: str) -> date:
        """Return a TOML date (not a time)."""
        value = self._take(key, "2027-12-31")
        if isinstance(value, datetime) or not isinstance(value, date):
            self.problem(key, f"is {_kind(value)}, not a date", "write 2027-12-31, no quotes")
        return value

    def texts(self, key: str, low: int, high: int) -> tuple[str, ...]:
        """Return a list of `low` to `high` distinct NFC texts."""
        value = self._take(key, '["...", "..."]')
        if not isinstance(value, list | tuple):
            self.problem(key, f"is {_kind(value)}, not a list", 'write ["...", "..."]')
        if not low <= len(value) <= high:
            self.problem(key, f"has {len(value)} entries", f"give {low} to {high}")
        texts = tuple(self.check_text(f"{key}[{i}]", entry) for i, entry in enumerate(value))
        first: dict[str, int] = {}
        for i, entry in enumerate(texts):
            if first.setdefault(entry, i) != i:
                self.problem(f"{key}[{i}]", f"repeats {key}[{first[entry]}]", "remove one")
        return texts

    def table(self, key: str) -> Mapping[str, Any]:
        """Return a sub-table."""
        value = self._take(key, "a table")
        if not isinstance(value, Mapping):
            self.problem(key, f"is {_kind(value)}, not a table", f"write [{self.path(key)}]")
        return value


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest known word was meant, empty where none is near."""
    import difflib  # for a mistake only

    folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? Else " if near else ""


def is_slug(name: str) -> bool:
    """Return whether `name` may name a metric, a family or a mechanism."""
    return _SLUG.fullmatch(name) is not None


def _kind(value: object) -> str:
    names = {bool: "true or false", str: "text", int: "an integer", list: "a list", dict: "a table"}
    names |= {Decimal: "a number", float: "a number", date: "a date", datetime: "a date and time"}
    return names.get(type(value), type(value).__name__)
