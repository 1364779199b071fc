"""What the pages show, as their templates, CSV and JSON take it: every number is the queries'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from rumor_server.errors import BadRequest
from rumor_server.http.dashboard.formats import epsilon_text
from rumor_server.http.dashboard.privacy_card import PrivacyCard, privacy_card
from rumor_server.http.dashboard.view import MAX_FOLLOWED, Part, View
from rumor_server.http.dashboard.words import StateWords, state_words
from rumor_server.queries.activity import Activity, activity_of, state_of
from rumor_server.queries.authenticity import DEFAULT_FAKE_SHARE, Authenticity
from rumor_server.queries.cache import Measured
from rumor_server.queries.candidate_lists import CandidateLists, Kept, OddCandidate
from rumor_server.queries.comparison import ChangeRow, change_rows
from rumor_server.queries.headline import headline_of
from rumor_server.queries.precision import reports_for, too_few
from rumor_server.queries.question import Question, days_shown, previous_days
from rumor_server.queries.reports_needed import USUAL_DIFFERENCE, Resolution, resolution_of
from rumor_server.queries.rows import Row, Scope, commonest, order_of, rows_of
from rumor_server.queries.service import QueryService
from rumor_server.queries.trend import Trend, TrendRow, measure_trend, points_within, trend_rows
from rumor_shared.epsilon import MICRO
from rumor_shared.fields import nearest
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# Some 40 KB of HTML: what a phone loads at once and a person still scrolls through.
PAGE_ROWS = 50
# So many values are compared with a misspelt one in some 10 ms.
_MOST_COMPARED = 500


@dataclass(frozen=True)
class Sources:
    """What pages are made from."""

    service: QueryService
    registry: Registry
    lists: CandidateLists
    today: Callable[[], date]


@dataclass(frozen=True)
class Comparison:
    """Two periods side by side; `rows` is None where one of them has nothing to compare."""

    first: date
    last: date
    before: Measured
    rows: tuple[ChangeRow, ...] | None


@dataclass(frozen=True)
class ValueTable:
    """One page of rows. `matching` of `total` values hold the text that the view looks for."""

    rows: list[Row]
    total: int
    matching: int
    page: int
    pages: int


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
    state: StateWords
    activity: Activity
    bounds: tuple[date, date] | None
    first: date
    last: date
    measured: Measured
    followed: tuple[str, ...]
    trend: Trend | None
    trend_rows: tuple[TrendRow, ...]
    comparison: Comparison | None
    headline: str | None
    resolution: Resolution | None
    card: PrivacyCard
    authenticity: tuple[Authenticity, ...]
    kept_lists: tuple[Kept, ...]
    odd_candidates: tuple[OddCandidate, ...]

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
        return previous_days(self.first, self.last)

    @property
    def row_count(self) -> int:
        """How many rows there are at most, whatever the view looks for."""
        return len(self.measured.values)

    @property
    def scope(self) -> Scope:
        """What the rows speak of."""
        one = self.measured
        return Scope(one.status, self.first, self.last, one.population, one.revisions, one.left_out)

    @property
    def too_few(self) -> bool:
        """Whether intervals are so wide that they say nothing."""
        return too_few(self.question, self.measured.n)

    @property
    def reports_for_10_points(self) -> int | None:
        """From about how many reports on an interval is within 10 points of a share."""
        return reports_for(self.question)

    def all_rows(self) -> list[Row]:
        """Return all rows that the view looks for, in its order."""
        return self._rows(self._order())

    def top_rows(self) -> list[Row]:
        """Return the rows with the highest estimates, as many as the view has bars."""
        return self._rows(order_of(self.measured)[: self.view.top])

    def table(self) -> ValueTable:
        """Return the rows of the view's page; a page beyond the last is the last."""
        order = self._order()
        pages = max(1, -(-len(order) // PAGE_ROWS))
        page = min(self.view.page, pages)
        shown = order[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
        total = len(self.measured.values)
        return ValueTable(self._rows(shown), total, len(order), page, pages)

    def _order(self) -> list[int]:
        sort = self.view.sort
        return order_of(self.measured, sort.column, down=sort.down, find=self.view.find)

    def _rows(self, chosen: list[int]) -> list[Row]:
        return rows_of(self.question, self.measured, chosen, fake_share=DEFAULT_FAKE_SHARE)


@dataclass(frozen=True)
class MetricCard:
    """One metric of the list."""

    metric: Metric
    state: StateWords
    activity: Activity
    reports: int


@dataclass(frozen=True)
class MetricsPage:
    """All metrics, in the order of the registry."""

    today: date
    cards: tuple[MetricCard, ...]
    daily_epsilon: float
    sha256: str

    @property
    def daily_budget(self) -> str:
        """What all metrics together may cost a device a day."""
        return epsilon_text(self.daily_epsilon)

    @property
    def reports_today(self) -> int:
        """Reports of all metrics that are dated today."""
        return sum(card.activity.today for card in self.cards)


def metrics_page(sources: Sources) -> MetricsPage:
    """Return the list of all metrics."""
    today, registry = sources.today(), sources.registry
    cards = tuple(_card(sources, metric, today) for metric in registry.metrics.values())
    return MetricsPage(today, cards, registry.daily_epsilon / MICRO, registry.sha256)


def _card(sources: Sources, metric: Metric, today: date) -> MetricCard:
    service, registry = sources.service, sources.registry
    revisions = service.revisions(metric.name)
    reports = service.reports(revisions, date.min, date.max)
    state = state_of(metric, registry, today, reports)
    return MetricCard(
        metric,
        state_words(state, metric, reports, ()),
        activity_of(service, revisions, registry, today),
        reports,
    )


def metric_page(sources: Sources, name: str, view: View) -> MetricPage:
    """Return the page of a metric.

    Raises UnknownMetric for what was never declared, BadRequest for a view that it can't have.
    """
    service, registry, today = sources.service, sources.registry, sources.today()
    question = _question(sources, name, view)
    bounds = service.days(question.metrics)
    first, last = days_shown(bounds, view.first, view.last, today)
    measured, ranked = service.ranked(question, first, last)
    comparison = _compare(service, question, view, measured)
    changes = comparison.rows if comparison else None
    followed = _followed(view, question, measured)
    revisions = service.revisions(name)
    trend = _trend(service, question, view, first, last) if service.days(revisions) else None
    activity = activity_of(service, revisions, registry, today)
    reports = service.reports(question.metrics, date.min, date.max)
    state = state_of(question.newest, registry, today, reports)
    difference = USUAL_DIFFERENCE if view.shows is None else view.shows / 100
    return MetricPage(
        view=view,
        question=question,
        revisions=tuple(metric.revision for metric in revisions),
        today=today,
        state=state_words(state, question.newest, reports, service.left_out(question)),
        activity=activity,
        bounds=bounds,
        first=first,
        last=last,
        measured=measured,
        followed=followed,
        trend=trend,
        trend_rows=tuple(trend_rows(trend, question.values, followed)) if trend else (),
        comparison=comparison,
        headline=headline_of(question, measured, ranked, changes),
        resolution=resolution_of(
            question, measured, followed[0], difference, (last - first).days + 1
        )
        if followed
        else None,
        card=privacy_card(question, registry, max(activity.reports)),
        authenticity=service.authenticity(question, first, last),
        kept_lists=tuple(sources.lists.kept(name)) if question.is_open else (),
        odd_candidates=service.odd_candidates(question),
    )


def _question(sources: Sources, name: str, view: View) -> Question:
    listed = sources.lists.get(name, view.candidates) if view.candidates else None
    question = sources.service.question(
        name,
        revision=view.revision,
        candidates=listed.texts if listed else None,
        alpha=view.alpha,
    )
    if listed and not question.is_open:
        raise BadRequest(
            "query.candidates: this metric lists its values itself; remove the parameter"
        )
    return question


def _trend(
    service: QueryService, question: Question, view: View, first: date, last: date
) -> Trend | None:
    """Measure a trend at once where rows are read off a tally, and else where it is asked for."""
    if question.is_open and not view.trend and view.part is not Part.TREND:
        return None
    return measure_trend(service, question, first, last)


def _followed(view: View, question: Question, measured: Measured) -> tuple[str, ...]:
    known = set(question.values)
    if unknown := [text for text in view.followed if text not in known]:
        hint = nearest(unknown[0], known) if len(known) <= _MOST_COMPARED else ""
        raise BadRequest(
            f"query.value: {len(unknown)} of its texts are no values of this metric; "
            f"{hint}choose from the table",
        )
    return view.followed or commonest(measured, MAX_FOLLOWED)


def _compare(
    service: QueryService, question: Question, view: View, after: Measured
) -> Comparison | None:
    if view.before_first is None or view.before_last is None:
        return None
    before = service.measure(question, view.before_first, view.before_last)
    return Comparison(
        view.before_first, view.before_last, before, change_rows(before, after, view.of)
    )
