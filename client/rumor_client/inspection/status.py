"""The status report for the owner: what holds, what is spent, what waits, what was dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rumor_client.consent.consent import Consent, Effective
from rumor_client.recording.ledger import AppCaps
from rumor_client.state.protocol import State
from rumor_client.state.report import BUSY
from rumor_shared.budget import EVERYTHING, LIFE, Account
from rumor_shared.days import utc_day
from rumor_shared.epsilon import MICRO, format_micro
from rumor_shared.registry import Registry


@dataclass(frozen=True)
class Status:
    """The state of a client. All epsilon are micro-epsilon.

    `spent_today` and `spent_life` are the totals over all metrics; the caps are the stricter of the
    registry's and the app's, None where there is none. `sent` reports can still be taken back,
    `beyond_recall` are too old for it. `dropped` counts by reason; under "unconfirmed:..." are
    reports that may have been counted all the same. `busy` answers found the state locked by other
    threads or processes, and no report was made of them. `became_other` counts by metric the values
    that this process recorded and the domain does not have. `stopped` says why the collector
    refuses this client, if it does. `erasure_pending` is True while deleted bytes may still be in
    the file. `str()` of it is what an owner should read.
    """

    consent: Mapping[str, Effective]
    spent_today: int
    daily_cap: int
    spent_life: int
    lifetime_cap: int | None
    waiting: int
    waiting_bytes: int
    sent: int
    beyond_recall: int
    dropped: Mapping[str, int]
    busy: int
    became_other: Mapping[str, int]
    stopped: str | None
    erasure_pending: bool

    def __str__(self) -> str:
        lines = [f"consent        {name}: {found}" for name, found in self.consent.items()]
        lines += [
            f"spent today    {_spent(self.spent_today, self.daily_cap)}",
            f"spent so far   {_spent(self.spent_life, self.lifetime_cap)}",
            *_COVERED,
            f"waiting        {self.waiting} reports, {self.waiting_bytes} bytes",
            f"sent           {self.sent} reports that can still be taken back",
        ]
        if self.beyond_recall:
            lines.append(f"               {self.beyond_recall} that are too old to be taken back")
        for reason, reports in sorted(self.dropped.items()):
            lines.append(f"dropped        {reports} reports: {reason.replace(':', ', ')}")
        if self.busy:
            lines.append(f"busy           {self.busy} answers found the state locked, and are lost")
        for metric, values in sorted(self.became_other.items()):
            lines.append(f"other          {values} values of {metric} are not in its domain")
        if self.stopped:
            lines.append(f"stopped        {self.stopped}")
        if self.erasure_pending:
            lines.append("erasure        pending: another program is reading the file")
        return "\n".join(lines)


def status_of(
    registry: Registry,
    caps: AppCaps,
    state: State,
    consent: Consent,
    now: datetime,
    stopped: str | None,
    busy: int,
    became_other: Mapping[str, int],
) -> Status:
    """Return the state of a client of this registry. Raises StateBusy and StateUnavailable."""
    accounts = [
        Account("all", EVERYTHING, utc_day(now).isoformat()),
        Account("all", EVERYTHING, LIFE),
    ]
    with state.transaction() as transaction:
        stored = transaction.choices()
        spent_today, spent_life = transaction.spent(accounts)
        size = transaction.size()
        sent = sum(item.may_count for item in transaction.sent())
        beyond_recall = transaction.beyond_recall()
        dropped = dict(transaction.drops())
    days = (registry.daily_epsilon, caps.daily)
    lives = (registry.lifetime_epsilon, caps.lifetime)
    return Status(
        consent={name: consent.resolve(name, stored) for name in consent.purposes},
        spent_today=spent_today,
        daily_cap=min(cap for cap in days if cap is not None),
        spent_life=spent_life,
        lifetime_cap=min((cap for cap in lives if cap is not None), default=None),
        waiting=size.reports,
        waiting_bytes=size.stored,
        sent=sent,
        beyond_recall=beyond_recall,
        busy=busy + dropped.pop(BUSY, 0),
        dropped=dropped,
        became_other=dict(became_other),
        stopped=stopped,
        erasure_pending=state.erasure_pending(),
    )


# What the factor covers: whoever reads it must not believe that it covers more.
_COVERED = (
    "               This holds for histories that repeat in the same places. Not covered: that",
    "               reports were made at all, when, whether an answer changed, and what else the",
    "               app or the network says of you.",
)


def _spent(spent: int, cap: int | None) -> str:
    limit = "no cap" if cap is None else f"cap {format_micro(cap)}"
    return (
        f"epsilon {format_micro(spent)} ({limit}): whichever of two histories you had, repeating in"
        f" the same places, an observer's odds change by at most a factor of {odds(spent)}"
    )


def odds(spent: int) -> str:
    """Return e to the power of `spent` micro-epsilon, rounded up to three digits.

    By so much the odds between two histories change at most: Dwork and Roth 2014, definition 2.4.
    """
    from decimal import ROUND_CEILING, Context, Decimal  # for who reads it, not for who records

    exact = Context(prec=30).exp(Decimal(spent) / MICRO)
    return str(Context(prec=3, rounding=ROUND_CEILING).plus(exact))
