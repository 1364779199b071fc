"""Retraction of what was sent, and deletion of the rest: the one word that stops and forgets.

The denial is stored first, so that no process goes on uploading, whatever happens to this one. Then
each day's reports are retracted, on a connection of their own and with a random pause between two
days, and what has an answer leaves the sent log at once: a second call goes on where one was cut
short. What the collector gave no answer for stays until then, or goes with `give_up`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic, sleep

from rumor_client.consent.consent import DENIAL_WAIT
from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.perturbation.perturb import new_secret
from rumor_client.perturbation.randomness import Randomness
from rumor_client.state.protocol import State, Transaction
from rumor_client.state.report import DENIED, Report
from rumor_client.upload.collector_api import (
    REQUEST_TIMEOUT,
    CollectorApi,
    Ended,
    condemns,
    must_split,
)
from rumor_client.upload.encoding import RETRACTIONS, batches, encode_batch
from rumor_client.upload.response import by_text, retractions
from rumor_client.upload.transport import Response
from rumor_shared.wire import RETRACTIONS_PATH, Retraction, pseudonym

# Why a report could not be taken back, beside the collector's own `mismatch` and `too_late`.
BEYOND_RECALL = "beyond_recall"
REFUSED = "refused"
UNANSWERED = "unanswered"

_TAKEN_BACK = frozenset({Retraction.RETRACTED, Retraction.ALREADY, Retraction.NOT_COUNTED_YET})
# The longest pause between two days' retractions: a person waits, and eight days are the usual.
_LONGEST_PAUSE = 2.0
# How often another process is asked whether its request has ended.
_TURN_POLL = 0.02


@dataclass(frozen=True)
class Forgotten:
    """What became of everything this device had reported.

    `taken_back` reports count no longer, or never will. `kept` says how many the collector keeps,
    and why. `unanswered` are those it gave no answer for, of which `detail` says why; they stay on
    the device, to be asked for again. `unsent` reports waited and were deleted. `erased` is False
    while deleted bytes may still be in the file.
    """

    taken_back: int = 0
    kept: Mapping[str, int] = field(default_factory=dict)
    unanswered: int = 0
    unsent: int = 0
    detail: str | None = None
    erased: bool = True

    @property
    def complete(self) -> bool:
        """Whether nothing is left on the device but the ledger's totals."""
        return self.unanswered == 0 and self.erased

    def __str__(self) -> str:
        lines = [f"taken back     {self.taken_back} reports"]
        lines += [f"never sent     {self.unsent} reports, deleted"]
        for why, reports in sorted(self.kept.items()):
            lines.append(f"not taken back {reports} reports: {_WORDS[why]}")
        if self.unanswered:
            lines.append(f"not answered   {self.unanswered} reports: {self.detail}; forget again")
        if not self.erased:
            lines.append("erasure        pending: another program is reading the file")
        return "\n".join(lines)


_WORDS = {
    BEYOND_RECALL: "older than the collector remembers reports singly",
    REFUSED: "the collector refused to read the retraction",
    UNANSWERED: "the collector gave no answer",
    Retraction.MISMATCH: "the collector holds something else under the report's id",
    Retraction.TOO_LATE: "the collector has closed their day",
}


def forget(
    state: State,
    collector: CollectorApi | None,
    deny: Callable[[], bool],
    randomness: Callable[[], Randomness],
    deadline: float,
    *,
    give_up: bool,
) -> Forgotten:
    """Deny, take back what the collector still can, and delete all but the ledger's totals.

    `deny` stores the denial and waits for this process's request under way. `deadline` is on the
    monotonic clock. Without a `collector` nothing can be asked. Raises StateBusy and
    StateUnavailable.
    """
    try:
        with state.transaction() as transaction:
            identity = transaction.identity()
            before = transaction.drops().get(DENIED, 0)
    except (StateBusy, StateUnavailable):
        # A denial may be kept where nothing can be read.
        deny()
        raise
    deny()
    with state.transaction(DENIAL_WAIT) as transaction:
        unsent = transaction.drops().get(DENIED, 0) - before
    answered, detail = Counter[str](), "there is no endpoint"
    if collector is not None:
        # After a denial the secret is gone: any name will do that is linked to nothing.
        secret = identity.secret if identity else new_secret(randomness())[0]
        with ExitStack() as held:
            _await_turn(state, held, deadline)
            detail = _take_back(state, collector, secret, deadline, answered)
    with state.transaction(DENIAL_WAIT) as transaction:
        unanswered = len(_retractable(transaction))
        kept = Counter({why: n for why, n in answered.items() if why not in _TAKEN_BACK})
        if unanswered == 0 or give_up:
            kept[BEYOND_RECALL] += transaction.beyond_recall()
            kept[UNANSWERED] += unanswered
            unanswered = 0
            transaction.forget()
    return Forgotten(
        taken_back=sum(answered[verdict] for verdict in _TAKEN_BACK),
        kept={why: reports for why, reports in kept.items() if reports},
        unanswered=unanswered,
        unsent=unsent,
        detail=detail if unanswered else None,
        erased=state.scrub(),
    )


def _await_turn(state: State, held: ExitStack, deadline: float) -> None:
    """Wait for the end of another process's request, which would come after its retraction.

    Goes on without the turn after half of the time: the collector then keeps a tombstone.
    """
    patience = monotonic() + min(REQUEST_TIMEOUT, (deadline - monotonic()) / 2)
    while True:
        with ExitStack() as turn:
            if turn.enter_context(state.upload_turn()):
                held.push(turn.pop_all())
                return
        if monotonic() >= patience:
            return
        sleep(_TURN_POLL)


def _retractable(transaction: Transaction) -> list[Report]:
    return [item.report for item in transaction.sent() if item.may_count]


def _take_back(
    state: State, collector: CollectorApi, secret: bytes, deadline: float, answered: Counter[str]
) -> str:
    """Retract until all is answered or time is up; count the answers, and say what was wrong."""
    while True:
        with state.transaction(DENIAL_WAIT) as transaction:
            left = _retractable(transaction)
        if not left:
            return ""
        try:
            collector.check_wait()
            _retract(state, collector, secret, left, deadline, answered)
        except Ended as ended:
            if ended.retry_in is None or monotonic() + ended.retry_in >= deadline:
                return ended.detail
            sleep(ended.retry_in)
        else:
            return "the collector gave no verdict"


def _retract(
    state: State,
    collector: CollectorApi,
    secret: bytes,
    reports: Sequence[Report],
    deadline: float,
    answered: Counter[str],
) -> None:
    days = sorted({report.day for report in reports})
    for number, day in enumerate(days):
        if number:
            share = (deadline - monotonic()) / (2 * len(days))
            sleep(max(0.0, collector.jitter() * min(_LONGEST_PAUSE, share)))
        name = pseudonym(secret, day)
        groups = batches(
            day, name, [report for report in reports if report.day == day], collector.room
        )
        while groups:
            group = groups.pop()
            response = collector.post(
                RETRACTIONS_PATH, encode_batch(day, name, group, RETRACTIONS), deadline
            )
            if response is None:
                groups.append(group)
                continue
            found = _verdicts(response, group)
            if found is None and must_split(response) and len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
                continue
            if found is None:
                collector.end(response)
            with state.transaction(DENIAL_WAIT) as transaction:
                transaction.unlog(list(found))
            answered.update(found.values())
            collector.succeeded(response, owes=len(found) < len(group))


def _verdicts(response: Response, group: Sequence[Report]) -> dict[bytes, str] | None:
    """Return why or that each report was taken back, by its id; None where nothing is settled."""
    if condemns(response) and len(group) == 1:
        return {group[0].id: REFUSED}
    reports = by_text(group)
    found = retractions(response, reports)
    if found is None:
        return None
    return {reports[text].id: str(verdict) for text, verdict in found.items()}
