"""The ledger: what a report costs on the device, and the refusal where that passes a cap.

All amounts are micro-epsilon. An account belongs to a UTC date or to the device's life; its day is
part of its name, so a clock set back meets an account that is already charged, and none is ever
deleted. What a report costs follows from counts alone (design, section 6), never from its value:

    of a day    epsilon_report
    of a life   epsilon_life(i) - epsilon_life(i - 1)    i: reports of this series ever

Which accounts are charged, and the registry's caps on them, is in `rumor_shared.budget`.
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
from rumor_client.recording.result import Cap as CapName
from rumor_client.recording.result import RecordStatus, Result
from rumor_shared.budget import Account, Cap, accounts, day_caps, life_caps
from rumor_shared.epsilon import DECIMALS, MICRO
from rumor_shared.metric import MAX_ACCOUNT, Metric
from rumor_shared.registry import Registry


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
    """The accounts of one metric, and its caps, each with the place of the account it bounds."""

    of: tuple[Account, ...]
    of_day: tuple[tuple[int, Cap], ...]
    of_life: tuple[tuple[int, Cap], ...]

    def accounts(self, day: date) -> tuple[Account, ...]:
        """Return the accounts that a report on `day` is charged to: of life, then of the day."""
        return (*self.of, *(account.on(day) for account in self.of))


def limits(registry: Registry, metric: Metric, app: AppCaps) -> Limits:
    """Return the caps that a report of `metric` must fit under: the registry's, then the app's."""
    charged = accounts(metric)
    everything = len(charged) - 1
    of_day = _placed(day_caps(registry, metric))
    of_life = _placed(life_caps(registry, metric))
    if app.daily is not None:
        of_day += ((everything, Cap(CapName.APP_DAY, app.daily)),)
    if app.lifetime is not None:
        of_life += ((everything, Cap(CapName.APP_LIFE, app.lifetime)),)
    return Limits(charged, of_day, of_life)


def _placed(caps: Iterable[Cap | None]) -> tuple[tuple[int, Cap], ...]:
    return tuple((place, cap) for place, cap in enumerate(caps) if cap is not None)


def cost(metric: Metric, number: int) -> Cost:
    """Return what the report with this 1-based number in its series adds, in micro-epsilon."""
    mechanism = metric.mechanism
    life = mechanism.epsilon_life(number) - mechanism.epsilon_life(number - 1)
    return Cost(mechanism.epsilon_report, life)


def refusal(
    metric: str, limits: Limits, asked: Cost, spent: Sequence[int], day: date
) -> Result | None:
    """Return the refusal of a report that would pass a cap, or None if it fits under all.

    `spent` belongs to `Limits.accounts`. Where several are in the way the narrowest is named, and
    a cap on life before one on the day, since tomorrow will not help there.
    """
    for caps, amount, offset, until in (
        (limits.of_life, asked.life, 0, None),
        (limits.of_day, asked.day, len(limits.of), next_day(day)),
    ):
        for place, cap in caps:
            left = cap.limit - spent[offset + place]
            if amount > left:
                # An account may be above a cap that a newer registry lowered.
                name = CapName(cap.name)
                return Result(
                    RecordStatus.BUDGET_EXCEEDED, metric, name, amount, max(left, 0), until
                )
    return None


def charges(accounts: Sequence[Account], asked: Cost) -> list[tuple[Account, int]]:
    """Return the debit of each account of `Limits.accounts`, without those of nothing."""
    half = len(accounts) // 2
    amounts = [asked.life] * half + [asked.day] * half
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
