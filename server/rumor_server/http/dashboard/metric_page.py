"""The page of one metric: everything that its template, its CSV and its JSON show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from rumor_server.errors import BadRequest
from rumor_server.http.dashboard.activity import Activity, activity
from rumor_server.http.dashboard.changes import ChangeRow, change_rows
from rumor_server.http.dashboard.privacy_card import PrivacyCard, privacy_card
from rumor_server.http.dashboard.reports_needed import reports_needed, smallest_difference
from rumor_server.http.dashboard.state import State, state_of
from rumor_server.http.dashboard.trend import (
    Trend,
    TrendRow,
    commonest,
    measure_trend,
    points_within,
    trend_rows,
)
from rumor_server.http.dashboard.view import MAX_FOLLOWED, Part, View
from rumor_server.queries.authenticity import (
    DEFAULT_FAKE_SHARE,
    Authenticity,
    tell_authenticity,
)
from rumor_server.queries.cache import Measured, Measurements, Question, ask, shared_days
from rumor_server.queries.candidate_lists import CandidateLists, Kept
from rumor_server.queries.service import Shapes, Status, most_reports
from rumor_server.statistics.estimation.comparison import Of, spread
from rumor_server.storage.store import Store
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# Two percentage points: what most people mean by "a difference", until they say another.
_USUAL_POINTS = 2.0


@dataclass(frozen=True)
class Sources:
    """What pages are made from.

    `revisions` is the store's: what an open store has declared. `shapes` knows reports' weights.
    """

    store: Store
    registry: Registry
    measurements: Measurements
    lists: CandidateLists
    today: Callable[[], date]
    revisions: Callable[[str], tuple[Metric, ...]]
    shapes: Shapes


@dataclass(frozen=True)
class Resolution:
    """What the reports of the period can tell apart, for one value.

    `difference` is a change between two periods, `needed` the reports that each of them needs to
    show it and None where that is never; `smallest` the change that two periods like this one show;
    `reports_a_day` the present rate. Shares of 1.
    """

    value: str
    difference: float
    needed: int | None
    smallest: float
    reports_a_day: float

    def missing(self, n: int) -> int:
        """Return how many more reports this period needs, for a difference that can show."""
        return max((self.needed or 0) - n, 0)

    def days(self, n: int) -> int | None:
        """Return how many more days that takes at the present rate."""
        return math.ceil(self.missing(n) / self.reports_a_day) if self.reports_a_day else None


@dataclass(frozen=True)
class Comparison:
    """Two periods side by side; `rows` is None where one of them has nothing to compare."""

    first: date
    last: date
    before: Measured
    rows: tuple[ChangeRow, ...] | None


@dataclass(frozen=True)
class MetricPage:
    """One metric over one period, as one view asks for it.

    `revisions` are all that were declared; `bounds` the days of its first and latest report.
    `authenticity` is by revision; empty where there is no data, or it is withheld.
    """

    view: View
    question: Question
    revisions: tuple[int, ...]
    today: date
    state: State
    activity: Activity
    bounds: tuple[date, date] | None
    first: date
    last: date
    measured: Measured
    followed: tuple[str, ...]
    trend: Trend | None
    trend_rows: tuple[TrendRow, ...]
    comparison: Comparison | None
    resolution: Resolution | None
    card: PrivacyCard
    authenticity: tuple[Authenticity, ...]
    kept_lists: tuple[Kept, ...]

    @property
    def metric(self) -> Metric:
        """The newest revision that is asked for."""
        return self.question.newest

    @property
    def trend_waits(self) -> bool:
        """Whether there is a trend to draw for who asks for it."""
        return (
            self.trend is None
            and self.question.is_open
            and not self.view.trend
            and self.measured.n > 0
            and points_within(self.question, self.first, self.last) > 1
        )

    @property
    def previous(self) -> tuple[date, date]:
        """The period of the same length just before, as far as the calendar goes back."""
        last = max(self.first.toordinal() - 1, 1)
        first = max(last - (self.last - self.first).days, 1)
        return date.fromordinal(first), date.fromordinal(last)


def metric_page(sources: Sources, name: str, view: View) -> MetricPage:
    """Return the page of a metric.

    Raises UnknownMetric for what was never declared, BadRequest for a view that it can't have.
    """
    store, registry, today = sources.store, sources.registry, sources.today()
    listed = sources.lists.get(name, view.candidates) if view.candidates else None
    revisions = sources.revisions(name)
    question = ask(revisions, name, revision=view.revision, candidates=listed, alpha=view.alpha)
    bounds = store.days(name)
    first, last = _period(view, bounds, today)
    measured = sources.measurements.measure(question, first, last)
    followed = _followed(view, question, measured)
    trend = _trend(sources.measurements, question, view, first, last) if bounds else None
    recent = activity(store, revisions, registry, today)
    return MetricPage(
        view=view,
        question=question,
        revisions=tuple(metric.revision for metric in revisions),
        today=today,
        state=state_of(question.newest, registry, today, total_reports(store, question.metrics)),
        activity=recent,
        bounds=bounds,
        first=first,
        last=last,
        measured=measured,
        followed=followed,
        trend=trend,
        trend_rows=tuple(trend_rows(trend, question.values, followed)) if trend else (),
        comparison=_compare(sources.measurements, question, view, measured),
        resolution=_resolution(view, measured, followed, (last - first).days + 1),
        card=privacy_card(question, registry, max(recent.reports)),
        authenticity=tuple(_authenticity(sources, question, measured, first, last)),
        kept_lists=tuple(sources.lists.kept(name)) if question.is_open else (),
    )


def _authenticity(
    sources: Sources, question: Question, measured: Measured, first: date, last: date
) -> Iterator[Authenticity]:
    if measured.status is not Status.OK:
        return
    days = shared_days(sources.store.days(question.newest.name), first, last)
    for metric in question.metrics:
        tally = sources.store.tally(metric, first, last)
        if tally.n:
            repeats = most_reports(metric, days, tally.n)
            shapes = sources.shapes(metric, first, last)
            yield tell_authenticity(metric, tally, shapes, repeats, DEFAULT_FAKE_SHARE)


def _trend(
    measurements: Measurements, question: Question, view: View, first: date, last: date
) -> Trend | None:
    """Measure a trend at once where rows are read off a tally, and else where it is asked for."""
    if question.is_open and not view.trend and view.part is not Part.TREND:
        return None
    return measure_trend(measurements, question, first, last)


def total_reports(store: Store, metrics: Sequence[Metric]) -> int:
    """Return how many reports of some revisions were ever counted."""
    return sum(store.tally(metric, date.min, date.max).n for metric in metrics)


def _period(view: View, bounds: tuple[date, date] | None, today: date) -> tuple[date, date]:
    """Return the days asked for; without a bound, from the first report to the last.

    A bound beyond all reports is a period of that day alone, which has none.
    """
    first, last = view.first, view.last
    if first is None:
        oldest = bounds[0] if bounds else today
        first = oldest if last is None else min(oldest, last)
    if last is None:
        newest = bounds[1] if bounds else today
        last = max(newest, first)
    return first, last


def _followed(view: View, question: Question, measured: Measured) -> tuple[str, ...]:
    if unknown := set(view.followed) - set(question.values):
        raise BadRequest(
            400,
            f"query.value: {len(unknown)} of its texts are no values of this metric; choose from "
            "the table",
        )
    return view.followed or commonest(measured, MAX_FOLLOWED)


def _compare(
    measurements: Measurements, question: Question, view: View, after: Measured
) -> Comparison | None:
    if view.before_first is None or view.before_last is None:
        return None
    before = measurements.measure(question, view.before_first, view.before_last)
    return Comparison(
        view.before_first, view.before_last, before, change_rows(before, after, view.of)
    )


def _resolution(
    view: View, measured: Measured, followed: tuple[str, ...], days: int
) -> Resolution | None:
    if measured.status is not Status.OK or not followed:
        return None
    value, estimates = followed[0], measured.estimates
    around = spread(estimates, Of.POPULATION)
    error = float(around.std_error[estimates.values.index(value)])
    difference = (view.shows or _USUAL_POINTS) / 100
    # Two periods like this one: the error of a change is the root of 2 times that of a share.
    of_change = math.sqrt(2) * error
    return Resolution(
        value=value,
        difference=difference,
        needed=reports_needed(difference, of_change, measured.n, alpha=view.alpha),
        smallest=smallest_difference(of_change, alpha=view.alpha),
        reports_a_day=measured.n / days,
    )
