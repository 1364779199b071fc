"""Which reports are taken back: pure functions, with no clock and no database in them.

A report can be retracted while its id is remembered, by whoever knows all of its fields: the digest
must match. Budget is not given back, since what was sent was seen. An id stays remembered until its
day closes, so a retracted report that is sent again is a duplicate; where the retraction comes
first, a tombstone waits for the report. A tombstone costs what the report would have cost, so that
nobody sets more of them than there can be reports; where the budget is used up, the report could
not be counted either, and none is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import IntEnum

from rumor_server.ingestion.admission import Addition, charge_one
from rumor_server.ingestion.batch import Report, RetractionBatch
from rumor_server.ingestion.screening import Charge, Charges, charge_of
from rumor_shared.budget import Account
from rumor_shared.wire import Retraction


class State(IntEnum):
    """What is known of a remembered id; the numbers are the database's."""

    COUNTED = 0
    RETRACTED = 1
    AWAITED = 2


@dataclass(frozen=True, slots=True)
class RetractionResult:
    """The verdict on one retraction; `detail` says why nothing was subtracted."""

    verdict: Retraction
    detail: str | None = None


RETRACTED = RetractionResult(Retraction.RETRACTED)
ALREADY = RetractionResult(Retraction.ALREADY)
NOT_COUNTED_YET = RetractionResult(
    Retraction.NOT_COUNTED_YET, "no such report was counted; it will not be, should it still come"
)
MISMATCH = RetractionResult(
    Retraction.MISMATCH, "another report of this id was counted; send every field as it was"
)
TOO_LATE = RetractionResult(
    Retraction.TOO_LATE, "the day is closed and its ids are forgotten; nothing can be taken back"
)
AHEAD = RetractionResult(
    Retraction.MISMATCH, "the day is after the server's own; no report of it was counted"
)


@dataclass(frozen=True, slots=True)
class Retractions:
    """The retractions of one pseudonym and day on their way to the store.

    `unknown` is what they hear whose id is not remembered; None has a tombstone set for them, at
    the cost that `charges` say: None for a report that could not be counted at all.
    """

    day: date
    pseudonym: bytes
    reports: Sequence[Report]
    unknown: RetractionResult | None
    charges: Sequence[Charge | None]

    @property
    def weight(self) -> int:
        """What they take of a queue; see `ScreenedBatch.weight`."""
        return len(self.reports) + (sum(len(report.payload) for report in self.reports) >> 10)


def screen_retractions(
    batch: RetractionBatch,
    charges: Charges,
    server_day: date,
    max_age_days: int,
    *,
    clock_in_doubt: bool = False,
) -> Retractions:
    """Return the retractions with what the day says of them. Raises BadRequest if it is none.

    While the clock that shows `server_day` is in doubt, none is too late before its day is closed.
    A tombstone is set for tomorrow too, where a device's clock is ahead; no further, because it
    lasts until its day closes.
    """
    day = batch.date
    unknown = None
    if day < server_day - timedelta(days=max_age_days) and not clock_in_doubt:
        unknown = TOO_LATE
    elif day > server_day + timedelta(days=1):
        unknown = AHEAD
    charged = [None if unknown else charge_of(one, day, charges) for one in batch.retractions]
    return Retractions(day, batch.pseudonym, batch.retractions, unknown, charged)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a retracted report had brought to a tally."""

    metric: str
    revision: int
    cohort: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an id was retracted, with which a restored database can do it again.

    `id` and `digest` are the store's keyed hashes. 0.1 wrote some for tombstones too, with None
    for `counted`; what was never counted needs no proof.
    """

    day: date
    id: bytes
    digest: bytes
    counted: Counted | None


@dataclass(frozen=True, slots=True)
class Known:
    """What a database remembers of an id."""

    digest: bytes
    state: State


@dataclass(slots=True)
class Withdrawal:
    """What to write and what to answer, for a group of retractions.

    `states` are the new rows of ids by their hash, `payloads` what to subtract, by (metric,
    revision, day, cohort), `receipts` one for each report that was counted and no longer is,
    whether that is new or not, `spend` what tombstones cost by (day, account hash).
    """

    results: list[list[RetractionResult]] = field(default_factory=list)
    states: dict[bytes, tuple[date, bytes, State]] = field(default_factory=dict)
    payloads: dict[tuple[str, int, date, int], list[bytes]] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)
    spend: dict[tuple[date, bytes], Addition] = field(default_factory=dict)

    def subtract(self, day: date, counted: Counted) -> None:
        """Note a report that no longer counts."""
        key = (counted.metric, counted.revision, day, counted.cohort)
        self.payloads.setdefault(key, []).append(counted.payload)


@dataclass(frozen=True, slots=True)
class HashedRetractions:
    """Retractions as the store knows them: (id hash, digest) of each; None without a key.

    `accounts` maps each account that a tombstone may be charged to to its hash.
    """

    sent: Retractions
    hashes: Sequence[tuple[bytes, bytes]] | None
    accounts: Mapping[Account, bytes]


def withdraw(
    batches: Iterable[HashedRetractions],
    known: Mapping[bytes, Known],
    spent: Mapping[tuple[date, bytes], int],
) -> Withdrawal:
    """Decide every retraction of a group in order, as if each came alone.

    `known` holds what is remembered of those ids that are, `spent` what accounts spent so far; both
    stay as they are.
    """
    withdrawal = Withdrawal()
    for batch in batches:
        if batch.hashes is None:
            result = batch.sent.unknown or TOO_LATE
            withdrawal.results.append([result] * len(batch.sent.reports))
        else:
            withdrawal.results.append(
                [
                    _withdraw(withdrawal, batch, at, hashes, known, spent)
                    for at, hashes in enumerate(batch.hashes)
                ]
            )
    return withdrawal


def _withdraw(
    withdrawal: Withdrawal,
    batch: HashedRetractions,
    at: int,
    hashes: tuple[bytes, bytes],
    known: Mapping[bytes, Known],
    spent: Mapping[tuple[date, bytes], int],
) -> RetractionResult:
    sent, report = batch.sent, batch.sent.reports[at]
    id_, digest = hashes
    changed = withdrawal.states.get(id_)
    before = known.get(id_) if changed is None else Known(changed[1], changed[2])
    if before is None:
        if sent.unknown is not None:
            return sent.unknown
        charge = sent.charges[at]
        if charge and charge_one(withdrawal.spend, spent, sent.day, batch.accounts, charge):
            withdrawal.states[id_] = (sent.day, digest, State.AWAITED)
        return NOT_COUNTED_YET
    if before.digest != digest:
        return MISMATCH
    if before.state is State.AWAITED:
        return NOT_COUNTED_YET
    counted = Counted(report.metric, report.revision, report.cohort, report.payload)
    withdrawal.receipts.append(Receipt(sent.day, id_, digest, counted))
    if before.state is State.RETRACTED:
        return ALREADY
    withdrawal.states[id_] = (sent.day, digest, State.RETRACTED)
    withdrawal.subtract(sent.day, counted)
    return RETRACTED


def replay(
    receipts: Iterable[Receipt], known: Mapping[bytes, Known], closed_through: date
) -> Withdrawal:
    """Return what a database still lacks of what receipts prove. Doing it twice changes nothing.

    A day that the database had closed is left alone: it was closed after its last retraction.
    """
    withdrawal = Withdrawal()
    for receipt in receipts:
        changed = withdrawal.states.get(receipt.id)
        before = known.get(receipt.id) if changed is None else Known(changed[1], changed[2])
        if receipt.day <= closed_through:
            continue
        if before is None:
            state = State.AWAITED if receipt.counted is None else State.RETRACTED
            withdrawal.states[receipt.id] = (receipt.day, receipt.digest, state)
        elif (
            before.state is State.COUNTED
            and before.digest == receipt.digest
            and receipt.counted is not None
        ):
            withdrawal.states[receipt.id] = (receipt.day, receipt.digest, State.RETRACTED)
            withdrawal.subtract(receipt.day, receipt.counted)
    return withdrawal
