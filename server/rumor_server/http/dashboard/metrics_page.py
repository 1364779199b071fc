"""The front page: every metric of the registry, with what it costs and how it does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from rumor_server.http.dashboard.activity import Activity, activity
from rumor_server.http.dashboard.formats import epsilon_text
from rumor_server.http.dashboard.metric_page import Sources, total_reports
from rumor_server.http.dashboard.state import State, state_of
from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric


@dataclass(frozen=True)
class MetricCard:
    """One metric of the list."""

    metric: Metric
    state: State
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
    today = sources.today()
    cards = tuple(_card(sources, metric, today) for metric in sources.registry.metrics.values())
    return MetricsPage(
        today, cards, sources.registry.daily_epsilon / MICRO, sources.registry.sha256
    )


def _card(sources: Sources, metric: Metric, today: date) -> MetricCard:
    store, registry = sources.store, sources.registry
    revisions = sources.revisions(metric.name)
    total = total_reports(store, revisions)
    return MetricCard(
        metric,
        state_of(metric, registry, today, total),
        activity(store, revisions, registry, today),
        total,
    )
