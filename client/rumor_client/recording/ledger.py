"""The ledger: which accounts a report is charged to, how much, and under which caps.

All amounts are micro-epsilon. An account belongs to a UTC date or to the device's life; its day is
part of its name, so a clock set back meets an account that is already charged, and none is ever
deleted. What a report costs follows from counts alone (design, section 6), never from its value:

    of a day    epsilon_day(i) - epsilon_day(i - 1)      i: reports of this series today
    of a life   epsilon_life(i) - epsilon_life(i - 1)    i: reports of this series ever

A series is one (secret epoch, metric, revision, cohort count): within it permanent answers stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

from rumor_client.errors import ConfigurationError
from rumor_client.process.clock import next_day
from rumor_client.recording.result import Cap, RecordStatus, Result
from rumor_shared.epsilon import DECIMALS, MICRO
from rumor_shared.metric import MAX_ACCOUNT, Metric
from rumor_shared.registry import Registry

LIFE = ""
EVERYTHING = ""


class Account(NamedTuple):
    """One running total. `scope` is "metric", "family" or "all"; `day` is empty for life."""

    scope: str
    name: str
    day: str


class Series(NamedTuple):
    """The reports over which a permanent answer holds."""

    epoch: int
    metric: str
    revision: int
    cohorts: int


class Cost(NamedTuple):
    """What one report adds to the accounts of its day and to those of life."""

    day: int
    life: int


@dataclass(frozen=True)
class AppCaps:
    """The app's own hard caps in micro-epsilon, which no registry can raise; None for no cap."""

    daily: int | None = None
    lifetime: int | None = None


@dataclass(frozen=True)
class Limits:
    """The caps of one metric, in micro-epsilon, each with the scope of the account it bounds."""

    family: str
    of_day: tuple[tuple[Cap, str, int], ...]
    of_life: tuple[tuple[Cap, str, int], ...]

    def accounts(self, metric: str, day: date) -> tuple[Account, ...]:
        """Return the six accounts a report of `metric` on `day` is charged to: life, then day."""
        label = day.isoformat()
        return (
            Account("all", EVERYTHING, LIFE),
            Account("family", self.family, LIFE),
            Account("metric", metric, LIFE),
            Account("all", EVERYTHING, label),
            Account("family", self.family, label),
            Account("metric", metric, label),
        )


def limits(registry: Registry, metric: Metric, app: AppCaps) -> Limits:
    """Return the caps that a report of `metric` must fit under.

    A family has the largest allowance that one of its metrics declares, for a day and for life:
    correlated metrics share it instead of adding theirs up.
    """
    family = [m for m in registry.metrics.values() if m.family == metric.family]
    lives = [m.lifetime_epsilon for m in family if m.lifetime_epsilon is not None]
    of_day = (
        (Cap.METRIC, "metric", metric.daily_epsilon),
        (Cap.FAMILY, "family", max(m.daily_epsilon for m in family)),
        (Cap.DAY, "all", registry.daily_epsilon),
        (Cap.APP_DAY, "all", app.daily),
    )
    of_life = (
        (Cap.METRIC_LIFE, "metric", metric.lifetime_epsilon),
        (Cap.FAMILY_LIFE, "family", max(lives, default=None)),
        (Cap.LIFE, "all", registry.lifetime_epsilon),
        (Cap.APP_LIFE, "all", app.lifetime),
    )
    return Limits(metric.family, _given(of_day), _given(of_life))


def _given(
    caps: Iterable[tuple[Cap, str, int | None]],
) -> tuple[tuple[Cap, str, int], ...]:
    return tuple((cap, scope, limit) for cap, scope, limit in caps if limit is not None)


def cost(metric: Metric, number: int, number_today: int) -> Cost:
    """Return what the report with these 1-based numbers in its series adds, in micro-epsilon."""
    mechanism = metric.mechanism
    return Cost(
        mechanism.epsilon_day(number_today) - mechanism.epsilon_day(number_today - 1),
        mechanism.epsilon_life(number) - mechanism.epsilon_life(number - 1),
    )


def refusal(
    metric: str, limits: Limits, asked: Cost, spent: Sequence[int], day: date
) -> Result | None:
    """Return the refusal of a report that would pass a cap, or None if it fits under all.

    `spent` belongs to `Limits.accounts`. Where several are in the way the narrowest is named, and
    a cap on life before one on the day, since tomorrow will not help there.
    """
    position = {"all": 0, "family": 1, "metric": 2}
    for caps, amount, offset, until in (
        (limits.of_life, asked.life, 0, None),
        (limits.of_day, asked.day, 3, next_day(day)),
    ):
        for cap, scope, limit in caps:
            left = limit - spent[offset + position[scope]]
            if amount > left:
                # An account may be above a cap that a newer registry lowered.
                return Result(
                    RecordStatus.BUDGET_EXCEEDED, metric, cap, amount, max(left, 0), until
                )
    return None


def charges(accounts: Sequence[Account], asked: Cost) -> list[tuple[Account, int]]:
    """Return the debit of each account of `Limits.accounts`, without those of nothing."""
    amounts = [asked.life] * 3 + [asked.day] * 3
    return [pair for pair in zip(accounts, amounts, strict=True) if pair[1]]


def app_cap(field: str, epsilon: Decimal | str | int | float | None) -> int | None:
    """Return the app's cap as micro-epsilon; a float stands for the decimals it prints as.

    Raises ConfigurationError for what is not a number from 0 to a million with six decimals.
    """
    if epsilon is None:
        return None
    fix = "give a number such as 2 or '0.5'"
    if isinstance(epsilon, bool) or not isinstance(epsilon, Decimal | str | int | float):
        raise ConfigurationError(field, "is not a number", fix)
    try:
        exact = Decimal(str(epsilon))
    except InvalidOperation:
        raise ConfigurationError(field, "is not a number", fix) from None
    if not exact.is_finite() or exact < 0 or exact > MAX_ACCOUNT // MICRO:
        raise ConfigurationError(field, f"is not in 0 to {MAX_ACCOUNT // MICRO}", fix)
    # The second test alone would do, but not in a reasonable time for 1e-999999.
    if (exact and exact.adjusted() < -DECIMALS) or (Fraction(exact) * MICRO).denominator != 1:
        raise ConfigurationError(field, f"has more than {DECIMALS} decimals", "round it")
    return int(Fraction(exact) * MICRO)
