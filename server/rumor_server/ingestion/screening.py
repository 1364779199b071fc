"""What can be said of a report without a database: by the registry and the day alone.

Pure functions, with no clock in them. What passes is charged and decided by `admission`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from rumor_server.ingestion.batch import Batch, Report
from rumor_shared.budget import Account, Cap, accounts, day_caps, family_of
from rumor_shared.errors import MalformedPayload
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one report; `reason` and `detail` say why it was not accepted."""

    verdict: Verdict
    reason: Reason | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """What a report of a metric costs in micro-epsilon, and the accounts that it is charged to.

    Each account stands for one of the report's pseudonym and day, beside its cap for a day.
    """

    metric: Metric
    accounts: tuple[tuple[Account, Cap], ...]
    cost: int


@dataclass(frozen=True, slots=True)
class ScreenedBatch:
    """The reports of one pseudonym and day, with what can be said of each without the database.

    `outcomes` are what the reports hear unless their ids are known; or else what they are charged.
    """

    day: date
    pseudonym: bytes
    reports: Sequence[Report]
    outcomes: Sequence[Result | Charge]

    @property
    def weight(self) -> int:
        """What the batch takes of a queue: one for each report, and one for each KiB of payload."""
        return len(self.reports) + (sum(len(report.payload) for report in self.reports) >> 10)

    @property
    def charges(self) -> list[Charge]:
        """The different charges among the outcomes."""
        return [one for one in dict.fromkeys(self.outcomes) if isinstance(one, Charge)]


class Charges:
    """What a report of each metric of a registry is charged, and to which accounts of its day.

    A metric that is alone in its family spends what the family does, so one account stands for
    both.
    """

    def __init__(self, registry: Registry) -> None:
        self._of = {metric.name: _charge(registry, metric) for metric in registry.metrics.values()}

    def get(self, metric: str) -> Charge | None:
        """Return the charge for a report of `metric`, or None if the registry has none."""
        return self._of.get(metric)


def _charge(registry: Registry, metric: Metric) -> Charge:
    charged = tuple(zip(accounts(metric), day_caps(registry, metric), strict=True))
    is_alone = len(family_of(registry, metric)) == 1
    return Charge(metric, charged[1:] if is_alone else charged, metric.mechanism.epsilon_report)


def screen_batch(
    batch: Batch,
    charges: Charges,
    server_day: date,
    max_age_days: int,
    *,
    clock_in_doubt: bool = False,
) -> ScreenedBatch:
    """Return the batch with what the registry and the day say of each report.

    While the clock that shows `server_day` is in doubt, no report is too late for good. Raises
    BadRequest if the batch's day is none.
    """
    day = batch.date
    window = _check_day(day, server_day, max_age_days, clock_in_doubt)
    series: dict[tuple[str, int], Result | Charge] = {}
    outcomes: list[Result | Charge] = []
    for report in batch.reports:
        name = (report.metric, report.revision)
        outcome = series.get(name)
        if outcome is None:
            outcome = _screen(charges.get(report.metric), report.revision, day, window)
            series[name] = outcome
        if isinstance(outcome, Charge):
            mechanism = outcome.metric.mechanism
            try:
                mechanism.check_cohort(report.cohort)
                mechanism.check_payload(report.payload)
            except MalformedPayload as error:
                outcome = _rejected(Reason.MALFORMED_PAYLOAD, error.what)
        outcomes.append(outcome)
    return ScreenedBatch(day, batch.pseudonym, batch.reports, outcomes)


def charge_of(report: Report, day: date, charges: Charges) -> Charge | None:
    """Return what a report of an open day is charged, or None if it can't be counted at all."""
    outcome = _screen(charges.get(report.metric), report.revision, day, None)
    if isinstance(outcome, Result):
        return None
    try:
        outcome.metric.mechanism.check_cohort(report.cohort)
        outcome.metric.mechanism.check_payload(report.payload)
    except MalformedPayload:
        return None
    return outcome


@lru_cache(maxsize=256)
def _check_day(
    day: date, server_day: date, max_age_days: int, clock_in_doubt: bool
) -> Result | None:
    if day > server_day:
        return Result(
            Verdict.RETRY, Reason.TOO_EARLY, f"the day is after the server's own, {server_day}"
        )
    if day < server_day - timedelta(days=max_age_days):
        if clock_in_doubt:
            return Result(
                Verdict.RETRY,
                Reason.CLOCK_IN_DOUBT,
                f"the day is long past by the server's clock, {server_day}, which may be wrong",
            )
        return Result(
            Verdict.REJECTED, Reason.TOO_LATE, f"the day is more than {max_age_days} days ago"
        )
    return None


def _screen(
    charge: Charge | None, revision: int, day: date, window: Result | None
) -> Result | Charge:
    """Return what all reports of a metric's revision hear, whatever is in them."""
    if charge is None:
        return _rejected(Reason.UNKNOWN_METRIC, "the registry has no such metric")
    metric = charge.metric
    if revision != metric.revision:
        return _rejected(
            Reason.REVISION_MISMATCH, f"the registry declares revision {metric.revision}"
        )
    if metric.expired(day):
        return _rejected(Reason.METRIC_EXPIRED, f"the metric's last valid day was {metric.expires}")
    return window or charge


@lru_cache(maxsize=1024)
def _rejected(reason: Reason, detail: str) -> Result:
    return Result(Verdict.REJECTED, reason, detail)
