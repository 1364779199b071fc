"""Which accounts a report is charged to: narrowest first, one a scope, a family sharing one cap."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from tests.harness.devices import KRR, registry_with

from rumor_client.recording.ledger import AppCaps, limits
from rumor_shared.budget import Account, Cap, accounts, day_caps, life_caps

METRICS = {
    "theme": {**KRR, "family": "looks", "daily_epsilon": 1, "lifetime_epsilon": 3},
    "font": {**KRR, "family": "looks", "daily_epsilon": 2},
    "zoom": {**KRR, "daily_epsilon": 2},
}


def test_accounts_narrowest_first() -> None:
    """A report is charged to its metric, its family and everything, for life and on its day."""
    registry = registry_with(METRICS)
    charged = accounts(registry.metric("theme"))
    assert charged == (("metric", "theme", ""), ("family", "looks", ""), ("all", "", ""))
    assert charged[2].on(date(2026, 11, 30)) == Account("all", "", "2026-11-30")


@pytest.mark.parametrize("name", ["theme", "font"])
def test_a_family_has_its_largest_allowance(name: str) -> None:
    """Metrics of a family share the largest cap that one of them declares, of day and life."""
    registry = registry_with(METRICS, daily_epsilon=Decimal("2.5"))
    metric = registry.metric(name)
    own = metric.daily_epsilon
    assert day_caps(registry, metric) == (
        Cap("metric", own),
        Cap("family", 2_000_000),
        Cap("day", 2_500_000),
    )
    assert life_caps(registry, metric)[1:] == (Cap("family_life", 3_000_000), None)


def test_the_apps_caps_come_after_the_registrys() -> None:
    """An app's own cap bounds the account of everything and is met where it is the lower one."""
    registry = registry_with(METRICS)
    caps = limits(registry, registry.metric("zoom"), AppCaps(daily=5, lifetime=7))
    assert caps.of_day[-1] == (2, Cap("app_day", 5))
    assert caps.of_life == ((2, Cap("app_life", 7)),)
