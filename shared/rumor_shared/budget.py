"""Budgets: which accounts a report is charged to, and which caps they have, on both sides.

A report of a metric is charged to the metric, to its family and to everything, narrowest first: on
its UTC day by device and collector, over a life by the device alone. All amounts are micro-epsilon,
and what one report costs of a day is an integer, `Mechanism.epsilon_report`.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

LIFE = ""
EVERYTHING = ""


class Account(NamedTuple):
    """One running total. `scope` is "metric", "family" or "all"; `day` is empty for life."""

    scope: str
    name: str
    day: str

    def on(self, day: date) -> Account:
        """Return the account of the same scope and name on one UTC day."""
        return Account(self.scope, self.name, day.isoformat())


class Cap(NamedTuple):
    """The most that one account may hold. `name` is what a refusal calls it."""

    name: str
    limit: int


class Series(NamedTuple):
    """The reports over which a permanent answer holds."""

    epoch: int
    metric: str
    revision: int
    cohorts: int


def accounts(metric: Metric) -> tuple[Account, Account, Account]:
    """Return the accounts of a life that a report is charged to; `Account.on` gives a day's."""
    return (
        Account("metric", metric.name, LIFE),
        Account("family", metric.family, LIFE),
        Account("all", EVERYTHING, LIFE),
    )


def day_caps(registry: Registry, metric: Metric) -> tuple[Cap, Cap, Cap]:
    """Return the caps on a day of `accounts`, in their order.

    A family has the largest allowance that one of its metrics declares: correlated metrics share
    it instead of adding theirs up.
    """
    family = max(one.daily_epsilon for one in family_of(registry, metric))
    return (
        Cap("metric", metric.daily_epsilon),
        Cap("family", family),
        Cap("day", registry.daily_epsilon),
    )


def life_caps(registry: Registry, metric: Metric) -> tuple[Cap | None, Cap | None, Cap | None]:
    """Return the caps for life of `accounts`, in their order; None for one that has none."""
    lives = [one.lifetime_epsilon for one in family_of(registry, metric)]
    family = max((life for life in lives if life is not None), default=None)
    return (
        _cap("metric_life", metric.lifetime_epsilon),
        _cap("family_life", family),
        _cap("life", registry.lifetime_epsilon),
    )


def family_of(registry: Registry, metric: Metric) -> list[Metric]:
    """Return the metrics of a registry that share a family with `metric`, itself among them."""
    return [one for one in registry.metrics.values() if one.family == metric.family]


def _cap(name: str, limit: int | None) -> Cap | None:
    return None if limit is None else Cap(name, limit)
