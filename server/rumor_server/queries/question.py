"""What is asked of a metric: which revisions, which candidates, which days, and how sure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property

from rumor_server.errors import BadRequest
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import Metric

DEFAULT_ALPHA = 0.05
# One false alarm in a trillion: what the laws here are computed from is not known more exactly.
LEAST_ALPHA = 1e-12

Days = tuple[date, date]


class Status(StrEnum):
    """Whether there is anything to tell."""

    OK = "ok"
    """There are rows with numbers."""
    NO_DATA = "no_data"
    """No report was counted on these days: n is 0 and all else null."""
    WITHHELD = "withheld"
    """Fewer than `min_reports` were counted; `missing` says how many more."""
    OTHER_REVISION = "other_revision"
    """Reports were counted, all of revisions with other values: `left_out_reports` says which."""


class Population(StrEnum):
    """What shares are shares of."""

    DEVICES = "devices"
    """Each device that answered is in them once."""
    REPORTS = "reports"
    """A device is in them as often as it reported: on several days, or several times a day."""


@dataclass(frozen=True)
class LeftOut:
    """Reports of a period that an answer leaves out: those of a revision with other values."""

    revision: int
    n: int
    first_day: date
    last_day: date


@dataclass(frozen=True)
class Question:
    """What is asked of a metric. `metrics` are revisions of equal values, the newest last.

    `candidates` are texts to look for in an open domain, each once, or None.
    """

    metrics: tuple[Metric, ...]
    left_out: tuple[Metric, ...]
    candidates: tuple[str, ...] | None
    alpha: float

    @property
    def newest(self) -> Metric:
        """The revision whose values and words the answer has."""
        return self.metrics[-1]

    @property
    def is_open(self) -> bool:
        """Whether any text may be recorded, so that rows need candidates."""
        return self.newest.mechanism.values is None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that rows are for."""
        return self.newest.mechanism.values or self.candidates or ()

    @cached_property
    def key(self) -> str:
        """A hash of everything but the days that the answer depends on."""
        digest = hashlib.blake2b(digest_size=32)
        digest.update(repr(self.alpha).encode())
        for metric in self.metrics:
            digest.update(f"|{metric.fingerprint}|{metric.min_reports}".encode())
        if self.candidates:
            # In C: a loop over so many texts holds the interpreter while reports wait.
            digest.update(json.dumps(self.candidates).encode())
        return digest.hexdigest()


def question_of(
    revisions: Sequence[Metric],
    name: str,
    *,
    revision: int | None = None,
    candidates: Sequence[str] | None = None,
    alpha: float = DEFAULT_ALPHA,
) -> Question:
    """Return the question of a metric's revision, or of all that have the newest one's values.

    `revisions` are all that were declared under the name, the newest last. Raises UnknownMetric for
    what was never declared, BadRequest for an alpha that can't be.
    """
    declared = [metric for metric in revisions if revision in (None, metric.revision)]
    if not declared:
        raise UnknownMetric(name)
    values = declared[-1].mechanism.values
    if not LEAST_ALPHA <= alpha < 1:
        raise BadRequest(f"alpha: is not from {LEAST_ALPHA:g} to 1; give for example 0.05")
    alike = tuple(metric for metric in declared if metric.mechanism.values == values)
    left_out = tuple(metric for metric in declared if metric not in alike)
    return Question(alike, left_out, None if candidates is None else tuple(candidates), alpha)


def days_told(
    bounds: Days | None, first: date | None, last: date | None
) -> tuple[date | None, date | None]:
    """Return the days asked for; what isn't said ends with the data, or is open beyond them.

    `bounds` are the days of the first and the last report.
    """
    if bounds is None:
        return first, last
    if first is None and (last is None or last >= bounds[0]):
        first = bounds[0]
    if last is None and (first is None or first <= bounds[1]):
        last = bounds[1]
    return first, last


def days_shown(bounds: Days | None, first: date | None, last: date | None, today: date) -> Days:
    """Return the days asked for; what isn't said ends with the data, or today without any.

    A bound beyond all reports is a period of that day alone, which has none.
    """
    oldest, newest = bounds or (today, today)
    if first is None:
        first = oldest if last is None else min(oldest, last)
    return first, max(newest, first) if last is None else last


def overlap(first: date | None, last: date | None, before_first: date, before_last: date) -> bool:
    """Return whether two periods may share days; an end that isn't said may lie anywhere.

    The same reports on both sides of a comparison would hide a change and shrink its error.
    """
    starts_after = first is not None and first > before_last
    ends_before = last is not None and last < before_first
    return not (starts_after or ends_before)


def previous_days(first: date, last: date) -> Days:
    """Return the period of the same length just before, as far as the calendar goes back."""
    end = max(first.toordinal() - 1, 1)
    start = max(end - (last - first).days, 1)
    return date.fromordinal(start), date.fromordinal(end)


def shared_days(bounds: Days | None, first: date | None, last: date | None) -> int:
    """Return how many days a period shares with the days that have data."""
    if bounds is None or first is None or last is None:
        return 0
    return max((min(last, bounds[1]) - max(first, bounds[0])).days + 1, 0)


def joint_days(bounds: Iterable[Days | None]) -> Days | None:
    """Return the first and the last day of several periods together."""
    known = [days for days in bounds if days]
    if not known:
        return None
    return min(first for first, _ in known), max(last for _, last in known)


def most_reports(metric: Metric, days: int, n: int) -> int:
    """Return how many of `n` counted reports over `days` days one device can have made.

    No more on a day than the metric's daily epsilon pays for, and at least 1.
    """
    a_day = metric.daily_epsilon // metric.mechanism.epsilon_report
    return max(1, min(days * a_day, n))
