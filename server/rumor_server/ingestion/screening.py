"""What can be said of a report without a database: by the registry and the day alone.

Pure functions, with no clock in them. What passes is charged and decided by `admission`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from rumor_server.ingestion.batch import Batch
from rumor_server.storage.store import Account, Charge, Result, ScreenedBatch
from rumor_shared.errors import MalformedPayload
from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import Reason, Verdict


class Charges:
    """The accounts that each metric of a registry is charged to, on one pseudonym and day.

    A metric is charged to its family, to itself where the family has several metrics, and to the
    total. A family may spend what its most generous metric may: correlated answers share one
    budget.
    """

    def __init__(self, registry: Registry) -> None:
        families: dict[str, list[Metric]] = {}
        for metric in registry.metrics.values():
            families.setdefault(metric.family, []).append(metric)
        total = Account("total", registry.daily_epsilon)
        self._of = {
            metric.name: Charge(
                metric,
                (*_own_accounts(metric, families[metric.family]), total),
                _spent(metric.mechanism),
            )
            for metric in registry.metrics.values()
        }

    def get(self, metric: str) -> Charge | None:
        """Return the charge for a report of `metric`, or None if the registry has none."""
        return self._of.get(metric)


def _own_accounts(metric: Metric, family: list[Metric]) -> tuple[Account, ...]:
    shared = Account(f"family {metric.family}", max(m.daily_epsilon for m in family))
    if len(family) == 1:
        return (shared,)
    return (Account(f"metric {metric.name}", metric.daily_epsilon), shared)


def _spent(mechanism: Mechanism) -> Callable[[int], int]:
    """Return what first reports of a day cost together: exact logarithms, slow, so kept."""
    return lru_cache(maxsize=1024)(mechanism.epsilon_day)


def screen_batch(
    batch: Batch, charges: Charges, server_day: date, max_age_days: int
) -> ScreenedBatch:
    """Return the batch with what the registry and the day say of each report.

    Raises BadRequest if the batch's day is none.
    """
    day = batch.date
    window = _check_day(day, server_day, max_age_days)
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


@lru_cache(maxsize=256)
def _check_day(day: date, server_day: date, max_age_days: int) -> Result | None:
    if day > server_day:
        return Result(
            Verdict.RETRY, Reason.TOO_EARLY, f"the day is after the server's own, {server_day}"
        )
    if day < server_day - timedelta(days=max_age_days):
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
