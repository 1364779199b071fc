"""Every fault of a table of the registry at once, for the person who mends it.

The readers of a registry stop at the first field that is wrong. Only once one is found the table is
read again, by fields that note each fault and go on with a stand-in of the right type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from rumor_shared.epsilon import MICRO
from rumor_shared.errors import Problem, RegistryError
from rumor_shared.fields import MAX_EPSILON, Fields

T = TypeVar("T")


class NotingFields(Fields):
    """Fields that note what is wrong with each in `found`, and hand out a stand-in for it."""

    def __init__(self, table: Mapping[str, Any], path: str) -> None:
        super().__init__(table, path)
        self.found: list[Problem] = []

    def _noted(self, read: Callable[[], T], stand_in: T) -> T:
        try:
            return read()
        except RegistryError as error:
            self.found.extend(error.problems)
            return stand_in

    def finish(self) -> None:
        """Note every key that nothing asked for."""
        self._noted(super().finish, None)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; a stand-in is a name too."""
        return self._noted(lambda: super(NotingFields, self).text(key, default), "x")

    def slug(self, key: str, default: str | None = None) -> str:
        """Return a name."""
        return self._noted(lambda: super(NotingFields, self).slug(key, default), "x")

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        return self._noted(lambda: super(NotingFields, self).flag(key, default), default)

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer; a stand-in is the lowest."""
        return self._noted(lambda: super(NotingFields, self).integer(key, low, high, default), low)

    def power_of_two(self, key: str, high: int, default: int | None = None) -> int:
        """Return a power of two."""
        return self._noted(lambda: super(NotingFields, self).power_of_two(key, high, default), 1)

    def number(self, key: str) -> Decimal:
        """Return a number; a stand-in is an epsilon and a probability."""
        return self._noted(lambda: super(NotingFields, self).number(key), Decimal(1))

    def epsilon(self, key: str, high: int = MAX_EPSILON, default: int | None = None) -> int:
        """Return an epsilon as micro-epsilon."""
        read = super().epsilon
        return self._noted(lambda: read(key, high, default), min(MICRO, high))

    def probability(self, key: str) -> Fraction:
        """Return a probability."""
        return self._noted(lambda: super(NotingFields, self).probability(key), Fraction(1, 2))

    def day(self, key: str) -> date:
        """Return a day."""
        return self._noted(lambda: super(NotingFields, self).day(key), date.max)

    def texts(self, key: str, low: int, high: int) -> tuple[str, ...]:
        """Return a list of texts, as short as it may be where it is wrong."""
        stand_in = tuple(f"x{i}" for i in range(low))
        return self._noted(lambda: super(NotingFields, self).texts(key, low, high), stand_in)

    def table(self, key: str) -> Mapping[str, Any]:
        """Return a sub-table, an empty one where it is none."""
        empty: Mapping[str, Any] = {}
        return self._noted(lambda: super(NotingFields, self).table(key), empty)


def faults(
    read: Callable[[Fields], object], table: Mapping[str, Any], path: str
) -> tuple[Problem, ...]:
    """Return what is wrong with a table that `read` reads.

    What `read` says of several fields together counts only where each of them is sound, but for a
    field that is missing and an unknown mechanism, which rest on themselves alone.
    """
    fields = NotingFields(table, path)
    try:
        read(fields)
    except RegistryError as error:
        noted = {problem.path for problem in fields.found}
        own = {path, fields.path("mechanism")} - noted
        fields.found += [
            one
            for one in error.problems
            if not noted or one.path in own or one.what.startswith("is missing")
        ]
    return tuple(fields.found)
