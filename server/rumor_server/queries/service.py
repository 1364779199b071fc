"""The rules by which a metric's question is answered: what may be told, and of which reports.

Every revision is estimated with its own parameters; revisions of the same values are then
combined. A metric that asks for `min_reports` is withheld until that many were counted: what was
refused never counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import ParamSpec, TypeVar

from rumor_server.errors import BadRequest
from rumor_server.queries.authenticity import (
    DEFAULT_FAKE_SHARE,
    Authenticity,
    authenticity_report,
)
from rumor_server.queries.cache import Answers, Measured
from rumor_server.queries.candidate_lists import OddCandidate, odd_candidates
from rumor_server.queries.headline import headline_of
from rumor_server.queries.open_days import SteppedTallies
from rumor_server.queries.precision import population_of, reports_for, unexplained_means
from rumor_server.queries.question import (
    DEFAULT_ALPHA,
    Days,
    LeftOut,
    Question,
    Status,
    days_told,
    joint_days,
    most_reports,
    question_of,
    shared_days,
)
from rumor_server.queries.ranks import Ranked, RanksPage, ranks_of, ranks_page
from rumor_server.queries.rows import EstimatesPage, rows_of, write
from rumor_server.queries.watch import WatchPage, check_watched, watch_of, watch_page
from rumor_server.queries.workers import Workers
from rumor_server.statistics.authenticity.report_weights import WeightCounts
from rumor_server.statistics.estimation import Estimates, combine
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_server.storage.store import Store
from rumor_shared.fields import nearest
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# A metric's past revisions are few, and reading them parses a whole registry.
_KEPT_METRICS = 1024

# So many take some 20 ms to estimate or to write down: less than a job's way to a worker and back.
FEW_ROWS = 5_000
_DECODED = 50
_PAIRS_A_ROW = 50

_P = ParamSpec("_P")
_R = TypeVar("_R")
Weights = Callable[[Metric, date, date], WeightCounts]


def no_weights(metric: Metric, first: date, last: date) -> WeightCounts:
    """Return that no report's weight was looked at."""
    return WeightCounts()


def rough(n: int, min_reports: int) -> int:
    """Return a number of reports, in whole tenths of `min_reports` below that many.

    A number that told each report of a withheld metric would tell when one came.
    """
    return n if n >= min_reports else n - n % max(1, min_reports // 10)


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

    `weights` knows the weights of counted reports. `registry` is the one in force, `stepped` shows
    open days in steps; without it, as to who has the file, every tally is exact.
    """

    def __init__(
        self,
        store: Store,
        weights: Weights = no_weights,
        *,
        registry: Registry | None = None,
        stepped: SteppedTallies | None = None,
    ) -> None:
        self._store = store
        self._weights = weights
        self._registry = registry
        self._stepped = stepped
        self._answers = Answers()
        self._workers = Workers()
        self.revisions = lru_cache(_KEPT_METRICS)(self._revisions)
        """Return every revision of a metric ever declared, the newest last."""

    def _revisions(self, name: str) -> tuple[Metric, ...]:
        # What is told and when may be declared anew without a new revision: the registry in force
        # counts, and not the first that declared it.
        present = self._registry.metrics.get(name) if self._registry else None
        return tuple(
            present if present and present.revision == one.revision else one
            for one in self._store.revisions(name)
        )

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

    def near(self, name: str) -> str:
        """Return the question whether the metric nearest to an unknown name was meant, if any is.

        It repeats nothing: what it names stands in the registry.
        """
        known = self._registry.metrics if self._registry else {}
        return "" if name in known else nearest(name, known)

    def days(self, metrics: Sequence[Metric]) -> Days | None:
        """Return the days of the first and last report of some revisions, or None without any."""
        return joint_days(self._store.days(metric.name, metric.revision) for metric in metrics)

    def reports(self, metrics: Sequence[Metric], first: date, last: date) -> int:
        """Return how many reports of some revisions were counted over some days; see `rough`."""
        n = sum(self._tally(metric, first, last).n for metric in metrics)
        return rough(n, metrics[-1].min_reports)

    def rough_count(self, name: str, n: int) -> int:
        """Return a metric's number of reports as others than its operator may see it."""
        present = self._registry.metrics.get(name) if self._registry else None
        return rough(n, present.min_reports) if present else n

    def measure(self, question: Question, first: date, last: date) -> Measured:
        """Return the answer over the days from `first` to `last`, inclusive.

        Raises BadRequest for candidates that no device could have recorded.
        """
        return self._measured(question, self._count(question, first, last), first, last)

    def _measured(self, question: Question, counted: _Counted, first: date, last: date) -> Measured:
        measured = self._answers.get(
            _key(question, counted), lambda: self._answered(question, counted)
        )
        left_out = self.left_out(question, first, last)
        if not left_out:
            return measured
        status = measured.status
        if not measured.n:
            status = Status.OTHER_REVISION
        return replace(measured, status=status, left_out=left_out)

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
        page, measured = self._page(question, first, last, fake_share)
        return page.with_rows(rows_of(question, measured, fake_share=fake_share))

    def ranked(self, question: Question, first: date, last: date) -> tuple[Measured, Ranked | None]:
        """Return the answer of `measure`, and the ranks that the same reports confirm.

        None where there are no numbers.
        """
        counted = self._count(question, first, last)
        measured = self._measured(question, counted, first, last)
        # All pairs of a thousand values take a tenth of a second.
        cost = len(measured.values) ** 2 // _PAIRS_A_ROW
        ranked = self.offloaded(cost, ranks_of, measured, counted.with_reports, counted.days)
        return measured, ranked

    def ranks(
        self, question: Question, first: date | None = None, last: date | None = None
    ) -> RanksPage:
        """Return the ranks that the days from `first` to `last` confirm, of all values at once.

        Raises BadRequest as `measure`.
        """
        bounds = self.days(question.metrics)
        first, last = days_told(bounds, first, last)
        span = first or date.min, last or date.max
        measured, ranked = self.ranked(question, *span)
        return ranks_page(question, measured, first, last, ranked)

    def watch(self, question: Question) -> WatchPage:
        """Return bounds that hold on all days, from the first day of the newest revision on.

        Raises BadRequest for a memoised metric, and as `measure`.
        """
        newest = question.newest
        check_watched(newest)
        alone = replace(question, metrics=(newest,), left_out=())
        bounds = self.days(alone.metrics)
        measured = self.measure(alone, date.min, date.max)
        watch = None
        if bounds and measured.status is Status.OK and alone.values:
            many = (bounds[1] - bounds[0]).days + 1
            days = [bounds[0] + timedelta(days=i) for i in range(many)]
            tallies = [self._tally(newest, day, day) for day in days]
            cost = many * len(alone.values) * (_DECODED if alone.is_open else 1)
            watch = self.offloaded(cost, watch_of, newest, tallies, alone.candidates, alone.alpha)
        first = bounds and bounds[0]
        return watch_page(alone, measured.status, measured.n, measured.missing, first, watch)

    def written(
        self,
        question: Question,
        first: date | None,
        last: date | None,
        *,
        fake_share: float,
        part: slice,
        as_csv: bool,
    ) -> tuple[bytes, int]:
        """Return a part of the rows of `estimates` as JSON or CSV, and how many rows there are.

        Written where it costs no report its time.
        """
        page, measured = self._page(question, first, last, fake_share)
        chosen = range(page.row_count)[part]
        body = self.offloaded(len(chosen), write, page, question, measured, chosen, as_csv)
        return body, page.row_count

    def _page(
        self, question: Question, first: date | None, last: date | None, fake_share: float
    ) -> tuple[EstimatesPage, Measured]:
        bounds = self.days(question.metrics)
        first, last = days_told(bounds, first, last)
        span = first or date.min, last or date.max
        measured, ranked = self.ranked(question, *span)
        newest, unexplained = question.newest, measured.unexplained or (None, None)
        page = EstimatesPage(
            metric=newest.name,
            question=newest.question,
            status=measured.status,
            n=measured.n,
            min_reports=newest.min_reports,
            min_new_reports=newest.min_new_reports,
            missing=measured.missing,
            first_day=first,
            last_day=last,
            alpha=question.alpha,
            fake_share=fake_share,
            revisions=list(measured.revisions) or [newest.revision],
            left_out=[metric.revision for metric in question.left_out],
            left_out_reports=list(measured.left_out),
            since=bounds and bounds[0],
            population=measured.population,
            follows=newest.mechanism.max_values if newest.mechanism.memoised else None,
            reports_for_10_points=reports_for(question),
            unexplained=unexplained[0],
            unexplained_std_error=unexplained[1],
            unexplained_means=unexplained_means(measured),
            odd_candidates=list(self.odd_candidates(question)),
            authenticity=list(self.authenticity(question, *span, fake_share)),
            row_count=len(measured.values),
            headline=headline_of(question, measured, ranked),
            rows=[],
        )
        return page, measured

    def odd_candidates(self, question: Question) -> tuple[OddCandidate, ...]:
        """Return the candidates that may match nothing by the way they are written."""
        texts = question.candidates or ()
        return self.offloaded(len(texts), odd_candidates, texts)

    def offloaded(
        self, rows: int, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> _R:
        """Return what a module's function returns: called in a worker where it is of many rows."""
        if rows <= FEW_ROWS:
            return function(*args, **kwargs)
        return self._workers.run(function, *args, **kwargs)

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def _answered(self, question: Question, counted: _Counted) -> Measured:
        rows = len(question.values)
        # A decode of a candidate takes as long as some hundred rows that are read off a tally.
        cost = rows * _DECODED if question.is_open else rows
        return self.offloaded(cost, _answer, question, counted)

    def _tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return what analysts may see of a tally."""
        source = self._stepped or self._store
        return source.tally(metric, first, last)

    def _count(self, question: Question, first: date, last: date) -> _Counted:
        days = shared_days(self.days(question.metrics), first, last)
        tallies = ((metric, self._tally(metric, first, last)) for metric in question.metrics)
        return _Counted(tuple(tallies), days)

    def left_out(
        self, question: Question, first: date = date.min, last: date = date.max
    ) -> tuple[LeftOut, ...]:
        """Return the reports of some days that revisions with other values have."""
        return tuple(self._left_out(question, first, last))

    def _left_out(self, question: Question, first: date, last: date) -> Iterator[LeftOut]:
        for metric in question.left_out:
            n = rough(self._tally(metric, first, last).n, question.newest.min_reports)
            days = self.days([metric])
            if n and days:
                yield LeftOut(metric.revision, n, max(first, days[0]), min(last, days[1]))

    def _authenticity(
        self, counted: _Counted, first: date, last: date, fake_share: float
    ) -> Iterator[Authenticity]:
        for metric, tally in counted.with_reports:
            whole = self._stepped.last_whole_day(metric, last) if self._stepped else last
            weights = self._weights(metric, first, whole) if whole else WeightCounts()
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
    population = population_of(question, counted.days)
    if status is Status.WITHHELD:
        nothing = Estimates.empty(question.values, question.alpha)
        least = question.newest.min_reports
        n = rough(n, least)
        return Measured(status, n, least - n, revisions, nothing, population)
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
        return Measured(status, n, 0, revisions, combine(parts), population)
    except ValueError as error:
        raise BadRequest(str(error)) from None
