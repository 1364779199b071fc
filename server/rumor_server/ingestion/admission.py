"""Which reports are counted: pure functions, with no clock and no database in them.

`admit` decides a group of batches, which `screening` has looked at, against what a database knows:
duplicates first, since a retry of what was counted must hear `duplicate` rather than `too_late` or
`budget_exceeded`; then what screening found; then closed days; then budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import repeat

from rumor_server.ingestion.batch import Report
from rumor_server.ingestion.screening import Charge, Result, ScreenedBatch
from rumor_shared.budget import Account, Cap
from rumor_shared.epsilon import format_micro
from rumor_shared.metric import Metric
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

# A few reports are decided faster one by one.
_MANY = 8


@dataclass(frozen=True, slots=True)
class HashedBatch:
    """A batch as the store knows it; no `digests` where its day has no key to make them.

    `ids` and `digests` are hashes of each report; `accounts` maps each account to its hash.
    """

    sent: ScreenedBatch
    ids: Sequence[bytes]
    digests: Sequence[bytes] | None
    accounts: Mapping[Account, bytes]


@dataclass(slots=True)
class Addition:
    """What comes to one account, in micro-epsilon: `micro`, after what it had spent `before`."""

    before: int
    cap: int
    micro: int = 0

    @property
    def left(self) -> int:
        """What may still be spent; below 0 where a newer registry lowered the cap."""
        return self.cap - self.before - self.micro


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

    def refused(self, batches: Iterable[HashedBatch]) -> list[bytes]:
        """Return the ids, of the batches that were decided, of reports that are not counted now."""
        return [
            id_
            for batch, results in zip(batches, self.results, strict=True)
            for id_, result in zip(batch.ids, results, strict=True)
            if result is not ACCEPTED
        ]


def admit(
    batches: Iterable[HashedBatch],
    known: Mapping[bytes, bytes],
    spent: Mapping[tuple[date, bytes], int],
    closed_through: date,
) -> Decision:
    """Decide every report of a group in order, as if each came alone.

    `known` maps remembered id hashes to digests, `spent` the accounts to what they spent so far.
    Both stay as they are: `Decision` holds what comes to them.
    """
    decision = Decision()
    for batch in batches:
        admission = _Admission(batch, known, spent, closed_through, decision)
        decision.results.append(admission.whole() or admission.one_by_one())
    return decision


class _Admission:
    """The admission of one batch into a decision that others share."""

    def __init__(
        self,
        batch: HashedBatch,
        known: Mapping[bytes, bytes],
        spent: Mapping[tuple[date, bytes], int],
        closed_through: date,
        decision: Decision,
    ) -> None:
        self._batch = batch
        self._day = batch.sent.day
        self._is_open = self._day > closed_through
        self._known = known
        self._spent = spent
        self._decision = decision
        self._accounts: dict[Charge, list[Addition]] = {}

    def whole(self) -> list[Result] | None:
        """Accept all of many reports in a third of the time, or return None to go one by one.

        All new, all chargeable, and their sum within every cap: then so is each in its turn,
        because no cost is below zero.
        """
        batch, decision = self._batch, self._decision
        if len(batch.ids) < _MANY:
            return None
        ids, digests = set(batch.ids), batch.digests
        if digests is None or not self._is_open or len(ids) != len(batch.ids):
            return None
        if not (ids.isdisjoint(self._known) and ids.isdisjoint(decision.ids)):
            return None
        numbers = Counter(batch.sent.outcomes)
        charges = [(one, number) for one, number in numbers.items() if isinstance(one, Charge)]
        if len(charges) != len(numbers) or not self._charge_all(charges):
            return None
        decision.ids.update(zip(batch.ids, zip(repeat(self._day), digests), strict=False))
        for report in batch.sent.reports:
            self._count(report)
        return [ACCEPTED] * len(batch.ids)

    def one_by_one(self) -> list[Result]:
        """Decide each report in its turn."""
        batch = self._batch
        digests = batch.digests or repeat(None, len(batch.ids))
        return [
            self._decide(*one)
            for one in zip(batch.sent.reports, batch.sent.outcomes, batch.ids, digests, strict=True)
        ]

    def _decide(
        self, report: Report, outcome: Result | Charge, id_: bytes, digest: bytes | None
    ) -> Result:
        counted = self._decision.ids.get(id_)
        before = self._known.get(id_) if counted is None else counted[1]
        if before is not None and digest is None and not self._is_open:
            # Its key is destroyed and its ids go by and by: nothing can be said of it any more.
            return outcome if isinstance(outcome, Result) else CLOSED
        if before is not None:
            return DUPLICATE if before == digest else CONFLICTING
        if isinstance(outcome, Result):
            return outcome
        if not self._is_open or digest is None:
            return CLOSED
        refusal = self._charge(outcome)
        if refusal is not None:
            return refusal
        self._decision.ids[id_] = (self._day, digest)
        self._count(report)
        return ACCEPTED

    def _count(self, report: Report) -> None:
        payloads = self._decision.payloads
        key = (report.metric, self._day, report.cohort)
        if key in payloads:
            payloads[key].append(report.payload)
        else:
            payloads[key] = [report.payload]

    def _charge_all(self, charges: Sequence[tuple[Charge, int]]) -> bool:
        """Charge so many reports of each charge, or none and return False."""
        asked: Counter[tuple[date, bytes]] = Counter()
        for charge, number in charges:
            for account, _ in charge.accounts:
                asked[self._day, self._batch.accounts[account]] += number * charge.cost
            self._open_accounts(charge)
        spend = self._decision.spend
        if any(micro > spend[key].left for key, micro in asked.items()):
            return False
        for key, micro in asked.items():
            spend[key].micro += micro
        return True

    def _charge(self, charge: Charge) -> Result | None:
        """Charge every account, or none and return the refusal."""
        accounts = self._open_accounts(charge)
        for i, account in enumerate(accounts):
            if charge.cost > account.left:
                return _over_budget(charge.cost, account.left, charge.accounts[i][0])
        for account in accounts:
            account.micro += charge.cost
        return None

    def _open_accounts(self, charge: Charge) -> list[Addition]:
        found = self._accounts.get(charge)
        if found is None:
            self._accounts[charge] = found = [self._open(*one) for one in charge.accounts]
            self._decision.metrics[charge.metric.name] = charge.metric
        return found

    def _open(self, account: Account, cap: Cap) -> Addition:
        key = (self._day, self._batch.accounts[account])
        addition = self._decision.spend.get(key)
        if addition is None:
            addition = Addition(self._spent.get(key, 0), cap.limit)
            self._decision.spend[key] = addition
        return addition


def charge_one(
    spend: dict[tuple[date, bytes], Addition],
    spent: Mapping[tuple[date, bytes], int],
    day: date,
    hashes: Mapping[Account, bytes],
    charge: Charge,
) -> bool:
    """Add one report's cost to every account in `spend`, or to none and return False."""
    additions = []
    for account, cap in charge.accounts:
        key = (day, hashes[account])
        addition = spend.setdefault(key, Addition(spent.get(key, 0), cap.limit))
        if charge.cost > addition.left:
            return False
        additions.append(addition)
    for addition in additions:
        addition.micro += charge.cost
    return True


def label(account: Account) -> str:
    """Return what an account is called, in a refusal and under its hash."""
    return f"{account.scope} {account.name}" if account.name else "total"


def _over_budget(cost: int, left: int, account: Account) -> Result:
    return Result(
        Verdict.REJECTED,
        Reason.BUDGET_EXCEEDED,
        f"asked {format_micro(cost)}, left {format_micro(max(left, 0))} "
        f"of today's epsilon for {label(account)}",
    )
