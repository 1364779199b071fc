"""Which reports are counted: pure functions, with no clock and no database in them.

`screen_batch` says what can be said of a report from the registry and the day alone. `admit`
decides a group of batches against what a database knows: duplicates first, since a retry of what
was counted must hear `duplicate` rather than `too_late` or `budget_exceeded`; then what screening
found; then closed days; then budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from rumor_server.batch import Batch, Report
from rumor_server.store import Account, Charge, Result, ScreenedBatch, ScreenedReport
from rumor_shared.epsilon import format_micro
from rumor_shared.errors import MalformedPayload
from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import Reason, Verdict

ACCEPTED = Result(Verdict.ACCEPTED)
DUPLICATE = Result(Verdict.DUPLICATE)
CONFLICTING = Result(
    Verdict.REJECTED,
    Reason.CONFLICTING_DUPLICATE,
    "a different report of this id was counted; make a fresh id for each report",
)
CLOSED = Result(
    Verdict.REJECTED, Reason.TOO_LATE, "the day is closed; its reports can't be counted any more"
)


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
                _costs(metric.mechanism),
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


def _costs(mechanism: Mechanism) -> Callable[[int], int]:
    """Return what report number i of a day costs: exact logarithms, which are slow, so kept."""

    @lru_cache(maxsize=1024)
    def cost(number: int) -> int:
        return mechanism.epsilon_day(number) - mechanism.epsilon_day(number - 1)

    return cost


def screen_batch(
    batch: Batch, charges: Charges, server_day: date, max_age_days: int
) -> ScreenedBatch:
    """Return the batch with what the registry and the day say of each report.

    Raises BadRequest if the batch's day is none.
    """
    day = batch.date
    window = _check_day(day, server_day, max_age_days)
    return ScreenedBatch(
        day,
        batch.pseudonym,
        [
            ScreenedReport(
                report.id,
                report.metric,
                report.revision,
                report.cohort,
                report.payload,
                _screen(report, charges.get(report.metric), day, window),
            )
            for report in batch.reports
        ],
    )


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
    report: Report, charge: Charge | None, day: date, window: Result | None
) -> Result | Charge:
    if charge is None:
        return _rejected(Reason.UNKNOWN_METRIC, "the registry has no such metric")
    metric = charge.metric
    if report.revision != metric.revision:
        return _rejected(
            Reason.REVISION_MISMATCH, f"the registry declares revision {metric.revision}"
        )
    if metric.expired(day):
        return _rejected(Reason.METRIC_EXPIRED, f"the metric's last valid day was {metric.expires}")
    if window is not None:
        return window
    try:
        metric.mechanism.check_cohort(report.cohort)
        metric.mechanism.check_payload(report.payload)
    except MalformedPayload as error:
        return _rejected(Reason.MALFORMED_PAYLOAD, error.what)
    return charge


@lru_cache(maxsize=1024)
def _rejected(reason: Reason, detail: str) -> Result:
    return Result(Verdict.REJECTED, reason, detail)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one account has spent, in micro-epsilon, over how many reports."""

    micro: int = 0
    reports: int = 0


@dataclass(frozen=True, slots=True)
class HashedReport:
    """A report as the store knows it; no `digest` where its day has no key to make one."""

    report: ScreenedReport
    id_hash: bytes
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class HashedBatch:
    """A batch as the store knows it: `accounts` maps an account's name to its hash."""

    day: date
    reports: list[HashedReport]
    accounts: Mapping[str, bytes]


@dataclass(slots=True)
class Addition:
    """What comes to one account: `left` of its `cap`, and `number` reports once all are counted."""

    cap: int
    left: int
    number: int
    micro: int = 0
    reports: int = 0


@dataclass(slots=True)
class Decision:
    """What to write and what to answer, for a group of batches.

    `ids` are the new id hashes with day and digest, `spend` the additions by (day, account hash),
    `payloads` the counted payloads by (metric's name, day, cohort), `metrics` the metrics counted.
    """

    results: list[list[Result]] = field(default_factory=list)
    ids: dict[bytes, tuple[date, bytes]] = field(default_factory=dict)
    spend: dict[tuple[date, bytes], Addition] = field(default_factory=dict)
    payloads: dict[tuple[str, date, int], list[bytes]] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)


def admit(
    batches: Iterable[HashedBatch],
    known: Mapping[bytes, bytes],
    spent: Mapping[tuple[date, bytes], Spent],
    closed_through: date,
) -> Decision:
    """Decide every report of a group in order, as if each came alone.

    `known` maps remembered id hashes to digests, `spent` the accounts to what they spent so far.
    Both stay as they are: `Decision` holds what comes to them.
    """
    decision = Decision()
    for batch in batches:
        admission = _Admission(batch, known, spent, batch.day > closed_through, decision)
        decision.results.append([admission.decide(hashed) for hashed in batch.reports])
    return decision


class _Admission:
    """The admission of one batch into a decision that others share."""

    def __init__(
        self,
        batch: HashedBatch,
        known: Mapping[bytes, bytes],
        spent: Mapping[tuple[date, bytes], Spent],
        is_open: bool,
        decision: Decision,
    ) -> None:
        self._batch = batch
        self._known = known
        self._spent = spent
        self._is_open = is_open
        self._decision = decision
        self._accounts: dict[str, list[Addition]] = {}

    def decide(self, hashed: HashedReport) -> Result:
        """Decide one report, and note what it brings if it is accepted."""
        decision = self._decision
        counted = decision.ids.get(hashed.id_hash)
        before = self._known.get(hashed.id_hash) if counted is None else counted[1]
        if before is not None:
            return DUPLICATE if before == hashed.digest else CONFLICTING
        report = hashed.report
        if isinstance(report.outcome, Result):
            return report.outcome
        if not self._is_open or hashed.digest is None:
            return CLOSED
        refusal = self._charge(report.outcome)
        if refusal is not None:
            return refusal
        day = self._batch.day
        decision.ids[hashed.id_hash] = (day, hashed.digest)
        decision.payloads.setdefault((report.metric, day, report.cohort), []).append(report.payload)
        return ACCEPTED

    def _charge(self, charge: Charge) -> Result | None:
        """Charge every account, or none and return the refusal."""
        accounts = self._accounts.get(charge.metric.name) or self._open_accounts(charge)
        cost = charge.cost(accounts[0].number + 1)
        for i, account in enumerate(accounts):
            if cost > account.left:
                return _over_budget(cost, account.left, charge.accounts[i].name)
        for account in accounts:
            account.left -= cost
            account.micro += cost
            account.number += 1
            account.reports += 1
        return None

    def _open_accounts(self, charge: Charge) -> list[Addition]:
        found = []
        for account in charge.accounts:
            key = (self._batch.day, self._batch.accounts[account.name])
            if key not in self._decision.spend:
                spent = self._spent.get(key, _NOTHING)
                addition = Addition(account.cap, account.cap - spent.micro, spent.reports)
                self._decision.spend[key] = addition
            found.append(self._decision.spend[key])
        self._accounts[charge.metric.name] = found
        self._decision.metrics[charge.metric.name] = charge.metric
        return found


def _over_budget(cost: int, left: int, account: str) -> Result:
    return Result(
        Verdict.REJECTED,
        Reason.BUDGET_EXCEEDED,
        f"asked {format_micro(cost)}, left {format_micro(max(left, 0))} "
        f"of today's epsilon for {account}",
    )


_NOTHING = Spent()
