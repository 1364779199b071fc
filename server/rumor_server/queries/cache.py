"""Answers remembered under the hash of all they depend on, the least recently asked dropped first.

A decode of many candidates takes seconds and a page asks for many, yet an estimate is a pure
function of its tallies: under their hash it is answered at once and is never out of date.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from rumor_server.queries.question import LeftOut, Population, Status
from rumor_server.statistics.estimates import Answer, Floats

# Eight arrays of float64 and a text each: some 150 MB of estimates at most.
_KEPT_ROWS = 1_000_000


@dataclass(frozen=True)
class Measured:
    """The answer for some days. Withheld or without data, `answer` has no numbers.

    `revisions` are those that had reports; `missing` is how many reports a release still lacks;
    `left_out` are reports of revisions with other values.
    """

    status: Status
    n: int
    missing: int
    revisions: tuple[int, ...]
    answer: Answer
    population: Population
    left_out: tuple[LeftOut, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """What the answer's rows are called."""
        return self.answer.values

    @property
    def std_errors(self) -> Floats:
        """The standard error of each row's share; none without numbers."""
        return self.answer.std_error

    @property
    def unexplained(self) -> tuple[float, float] | None:
        """The share that no row accounts for and its standard error, in an open domain."""
        share, error = self.answer.unexplained, self.answer.unexplained_std_error
        return None if share is None or error is None else (share, error)


class Answers:
    """Remembered answers. Safe for many threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Measured] = OrderedDict()
        self._rows = 0
        self._lock = threading.Lock()
        self._measuring: dict[str, threading.Lock] = {}

    def get(self, key: str, measure: Callable[[], Measured]) -> Measured:
        """Return what is remembered under `key`, or measure it: once, however many ask for it."""
        kept = self._recall(key)
        if kept is not None:
            return kept
        with self._lock:
            turn = self._measuring.setdefault(key, threading.Lock())
        with turn:
            kept = self._recall(key)
            if kept is None:
                try:
                    kept = measure()
                    self._keep(key, kept)
                finally:
                    with self._lock:
                        self._measuring.pop(key, None)
        return kept

    def _recall(self, key: str) -> Measured | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, measured: Measured) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = measured
                self._rows += _weight(measured)
            while self._rows > _KEPT_ROWS and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._rows -= _weight(oldest)


def _weight(measured: Measured) -> int:
    return 1 + len(measured.values)
