"""The rules by which a metric's question is answered: what may be told, and of which reports.

Every revision is estimated with its own parameters; revisions of the same values are then
combined. A metric that asks for `min_reports` is withheld until that many were counted: what was
refused never counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from rumor_server.errors import BadRequest
from rumor_server.queries.authenticity import (
    DEFAULT_FAKE_SHARE,
    Authenticity,
    authenticity_report,
)
from rumor_server.queries.cache import Answers, Measured
from rumor_server.queries.question import (
    DEFAULT_ALPHA,
    Days,
    Question,
    Status,
    days_told,
    most_reports,
    question_of,
    shared_days,
)
from rumor_server.queries.rows import EstimatesPage, rows_of
from rumor_server.statistics.authenticity.report_weights import ShapeCounts
from rumor_server.statistics.estimation import Estimates, combine
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_server.storage.store import Store
from rumor_shared.metric import Metric

# A metric's past revisions are few, and reading them parses a whole registry.
_KEPT_METRICS = 1024

Weights = Callable[[Metric, date, date], ShapeCounts]


def no_weights(metric: Metric, first: date, last: date) -> ShapeCounts:
    """Return that no report's weight was looked at."""
    return ShapeCounts()


@dataclass(frozen=True)
class _Counted:
    """What was counted of a question's revisions over some days of which `days` have data."""

    tallies: tuple[tuple[Metric, Tally], ...]
    days: int

    @property
    def n(self) -> int:
        return sum(tally.n for _, tally in self.tallies)

    @property
    def with_reports(self) -> list[tuple[Metric, Tally]]:
        return [(metric, tally) for metric, tally in self.tallies if tally.n]


class QueryService:
    """Answers of a store, each remembered. Safe for many threads.

    `weights` knows the weights of counted reports.
    """

    def __init__(self, store: Store, weights: Weights = no_weights) -> None:
        self._store = store
        self._weights = weights
        self._answers = Answers()
        self.revisions = lru_cache(_KEPT_METRICS)(store.revisions)
        """Return every revision of a metric ever declared, the newest last."""

    def question(
        self,
        name: str,
        *,
        revision: int | None = None,
        candidates: Sequence[str] | None = None,
        alpha: float = DEFAULT_ALPHA,
    ) -> Question:
        """Return the question of a metric; see `question_of`."""
        return question_of(
            self.revisions(name), name, revision=revision, candidates=candidates, alpha=alpha
        )

    def days(self, name: str) -> Days | None:
        """Return the days of a metric's first and last report, or None without any."""
        return self._store.days(name)

    def reports(self, metrics: Sequence[Metric], first: date, last: date) -> int:
        """Return how many reports of some revisions were counted over some days."""
        return sum(self._store.tally(metric, first, last).n for metric in metrics)

    def measure(self, question: Question, first: date, last: date) -> Measured:
        """Return the answer over the days from `first` to `last`, inclusive.

        Raises BadRequest for candidates that no device could have recorded.
        """
        return self._measure(question, self._count(question, first, last))

    def authenticity(
        self,
        question: Question,
        first: date,
        last: date,
        fake_share: float = DEFAULT_FAKE_SHARE,
    ) -> tuple[Authenticity, ...]:
        """Return what is told of each revision's reports, and of fakes among them.

        Empty where there is no data, or it is withheld.
        """
        counted = self._count(question, first, last)
        if _status(question, counted) is not Status.OK:
            return ()
        return tuple(self._authenticity(counted, first, last, fake_share))

    def estimates(
        self,
        question: Question,
        first: date | None = None,
        last: date | None = None,
        *,
        fake_share: float = DEFAULT_FAKE_SHARE,
    ) -> EstimatesPage:
        """Return the estimates over the days from `first` to `last`, inclusive, or all of them.

        `fake_share` is the share of fakes whose effect is told and which the robust bounds allow
        for, among the reports of each revision. Raises BadRequest as `measure`.
        """
        first, last = days_told(self._store.days(question.newest.name), first, last)
        span = first or date.min, last or date.max
        measured = self.measure(question, *span)
        newest, unexplained = question.newest, measured.unexplained or (None, None)
        return EstimatesPage(
            metric=newest.name,
            question=newest.question,
            status=measured.status,
            n=measured.n,
            min_reports=newest.min_reports,
            missing=measured.missing,
            first_day=first,
            last_day=last,
            alpha=question.alpha,
            fake_share=fake_share,
            revisions=list(measured.revisions) or [newest.revision],
            left_out=[metric.revision for metric in question.left_out],
            unexplained=unexplained[0],
            unexplained_std_error=unexplained[1],
            authenticity=list(self.authenticity(question, *span, fake_share)),
            row_count=len(measured.values),
            rows=rows_of(question, measured, fake_share=fake_share),
        )

    def _count(self, question: Question, first: date, last: date) -> _Counted:
        days = shared_days(self._store.days(question.newest.name), first, last)
        tallies = ((metric, self._store.tally(metric, first, last)) for metric in question.metrics)
        return _Counted(tuple(tallies), days)

    def _measure(self, question: Question, counted: _Counted) -> Measured:
        return self._answers.get(
            _key(question, counted), lambda: _answer(question, counted), long=question.is_open
        )

    def _authenticity(
        self, counted: _Counted, first: date, last: date, fake_share: float
    ) -> Iterator[Authenticity]:
        for metric, tally in counted.with_reports:
            weights = self._weights(metric, first, last)
            repeats = most_reports(metric, counted.days, tally.n)
            yield authenticity_report(metric, tally, weights, repeats, fake_share)


def _key(question: Question, counted: _Counted) -> str:
    digest = hashlib.blake2b(f"{question.key}|{counted.days}".encode(), digest_size=32)
    for _, tally in counted.tallies:
        digest.update(tally.reports.tobytes())
        digest.update(tally.counts.tobytes())
    return digest.hexdigest()


def _status(question: Question, counted: _Counted) -> Status:
    least = question.newest.min_reports
    if least > 1 and counted.n < least:
        return Status.WITHHELD
    return Status.OK if counted.n else Status.NO_DATA


def _answer(question: Question, counted: _Counted) -> Measured:
    status, n = _status(question, counted), counted.n
    revisions = tuple(metric.revision for metric, _ in counted.with_reports)
    if status is Status.WITHHELD:
        nothing = Estimates.empty(question.values, question.alpha)
        return Measured(status, n, question.newest.min_reports - n, revisions, nothing)
    try:
        parts = [
            estimate_metric(
                metric,
                tally,
                question.candidates,
                alpha=question.alpha,
                repeats=most_reports(metric, counted.days, tally.n),
            )
            for metric, tally in counted.with_reports or counted.tallies[-1:]
        ]
        return Measured(status, n, 0, revisions, combine(parts))
    except ValueError as error:
        raise BadRequest(str(error)) from None
