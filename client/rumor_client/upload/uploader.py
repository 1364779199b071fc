"""The uploader: one pass over the outbox sends each day's batches and applies the verdicts.

| answer | the client |
|---|---|
| 200 with verdicts | removes accepted, duplicate and rejected by id; keeps the others |
| 400 | halves the batch until the poison report is alone; drops and counts it |
| 413 | halves the batch; drops and counts a report that is too large alone |

Only a problem of the collector's own condemns a report: a batch is halved over any 413, but what is
alone then waits. Every other answer is a row of `rumor_client.upload.collector_api`. How long the
collector is to be left alone is noted in the state, for the next run of the app.

A report is marked as on its way, durably, before the request that carries it: whatever takes it out
of the outbox before the answer comes (a denial, a full outbox, its age) then knows that it may have
been counted.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from time import monotonic, sleep

from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.perturbation.perturb import new_secret
from rumor_client.perturbation.randomness import Randomness
from rumor_client.process.clock import Clock
from rumor_client.process.fork import FORK_LOCK
from rumor_client.recording.outbox import drop_outdated
from rumor_client.state.protocol import State, Transaction
from rumor_client.state.report import REFUSED, TOO_LARGE, Report, Sent
from rumor_client.upload.backoff import LONGEST, wait_after
from rumor_client.upload.collector_api import CollectorApi, Ended, condemns, must_split
from rumor_client.upload.encoding import batches, encode_batch
from rumor_client.upload.response import by_text, verdicts
from rumor_client.upload.result import FlushResult, UploadStatus
from rumor_client.upload.transport import Response
from rumor_shared.days import utc_day
from rumor_shared.wire import MAX_BATCH_REPORTS, REPORTS_PATH, Verdict, pseudonym


@dataclass
class _Pass:
    """A pass under way. `deadline` is on the monotonic clock."""

    deadline: float | None
    pause: Callable[[], bool]
    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    dropped: int = 0
    withheld: int = 0


# Notes, in seconds since the epoch: when the collector may be asked again, because it said so, or
# because tries failed, and how many of them in a row. The latter are written before a try, which
# may end with the process.
_ASKED_UNTIL = "asked_until"
_REST_UNTIL = "rest_until"
_FAILURES = "failures"


# How often a drain asks whether another process has finished its upload.
_TURN_POLL = 0.02


def _named(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _no_pause() -> bool:
    return True


class Uploader:
    """What sends reports. `granted(purpose)` is asked right before each request."""

    def __init__(
        self,
        collector: CollectorApi,
        *,
        state: State,
        max_age_days: int,
        granted: Callable[[str], bool],
        clock: Clock,
        randomness: Callable[[], Randomness],
    ) -> None:
        self.collector = collector
        self._state = state
        self._max_age_days = max_age_days
        self._granted = granted
        self._clock = clock
        self._randomness = randomness
        self._in_flight = threading.Lock()
        # What this process noted itself it knows better, by a clock that nobody sets.
        self._noted: set[int | None] = set()
        FORK_LOCK.watch(self)

    @property
    def stopped(self) -> str | None:
        """Why the collector refuses this client, None while it doesn't."""
        return self.collector.stopped

    def await_request(self, wait: float) -> None:
        """Wait for the request under way, up to `wait` seconds: a denial came meanwhile."""
        in_flight = self._in_flight
        if in_flight.acquire(timeout=wait):
            in_flight.release()

    def before_fork(self) -> None:
        """Do nothing: a fork must not wait for the network."""

    def after_fork(self, *, clean: bool) -> None:
        """Start anew in a child, which has no request under way."""
        self._in_flight = threading.Lock()

    def run(
        self, deadline: float | None = None, pause: Callable[[], bool] = _no_pause
    ) -> FlushResult:
        """Make one pass, until `deadline` on the monotonic clock.

        `pause()` is called between two days' batches; False ends the pass.
        """
        under_way = _Pass(deadline, pause)
        status, retry_in, detail = UploadStatus.DONE, None, None
        try:
            if not self._state.choices():
                # Nobody has ever been asked: nothing can wait, and no file is to be made.
                return FlushResult(status)
            with self._state.upload_turn() as mine:
                if mine:
                    self._visit_days(under_way)
                else:
                    status = UploadStatus.ELSEWHERE
            if under_way.withheld:
                status, detail = UploadStatus.OFF, "there is no consent for what waits"
        except Ended as ended:
            status, retry_in, detail = ended.status, ended.retry_in, ended.detail
            self._note_wait()
        except (StateBusy, StateUnavailable) as error:
            status, detail = UploadStatus.LATER, str(error)
            retry_in = self.collector.back_off()
        except (ImportError, OSError) as error:
            # The package is gone, or no file can be opened: the app is not to blame for calling us.
            status, detail = UploadStatus.LATER, f"a part of the client failed: {_named(error)}"
            retry_in = self.collector.back_off()
        counts = under_way.verdicts
        return FlushResult(
            status,
            accepted=counts[Verdict.ACCEPTED],
            duplicate=counts[Verdict.DUPLICATE],
            rejected=counts[Verdict.REJECTED],
            dropped=under_way.dropped,
            waiting=self._waiting(),
            retry_in=retry_in,
            detail=detail,
        )

    def _waiting(self) -> int:
        try:
            with self._state.transaction() as transaction:
                return transaction.size().reports
        except (StateBusy, StateUnavailable):
            return 0

    def rest(self) -> float:
        """Return the seconds for which failures of another run ask to leave the collector alone."""
        try:
            with self._state.transaction() as transaction:
                return self._left(transaction, _REST_UNTIL)
        except (StateBusy, StateUnavailable):
            return 0.0

    def _left(self, transaction: Transaction, name: str) -> float:
        until = transaction.note(name)
        if until is None or until in self._noted:
            return 0.0
        left = until - self._clock().timestamp()
        # No wait is longer: what is has been noted by a clock that was wrong.
        return left if 0 < left <= LONGEST + 1 else 0.0

    def _until(self, seconds: float) -> int:
        until = math.ceil(self._clock().timestamp() + seconds)
        self._noted.add(until)
        return until

    def _note_wait(self) -> None:
        asked = self.collector.asked()
        if asked > 0:
            with suppress(StateBusy, StateUnavailable), self._state.transaction() as transaction:
                transaction.set_note(_ASKED_UNTIL, self._until(asked))

    def _note_try(self, transaction: Transaction) -> None:
        failures = self.collector.failures + 1
        transaction.set_note(_FAILURES, failures)
        wait = wait_after(failures, self.collector.jitter)
        transaction.set_note(_REST_UNTIL, self._until(wait))

    def _recall(self, transaction: Transaction) -> None:
        asked = self._left(transaction, _ASKED_UNTIL)
        if asked:
            self.collector.wait(asked)
        if self.collector.failures == 0:
            self.collector.failures = transaction.note(_FAILURES) or 0

    def _visit_days(self, under_way: _Pass) -> None:
        today = utc_day(self._clock())
        with self._state.transaction() as transaction:
            self._recall(transaction)
            self.collector.check_wait()
            under_way.dropped += drop_outdated(transaction, today, self._max_age_days)
            # What is dated after today was made under a clock that was wrong, or is now.
            days = [day for day in transaction.days() if day <= today]
        for number, day in enumerate(days):
            if number and not under_way.pause():
                raise Ended(UploadStatus.TIMEOUT, None, "the upload was interrupted")
            self._send_day(day, under_way)

    def _send_day(self, day: date, under_way: _Pass) -> None:
        after = 0
        while True:
            with self._state.transaction() as transaction:
                page = transaction.waiting(day, after, MAX_BATCH_REPORTS)
                if not page:
                    return
                # A denial of one purpose took the secret; what waits for another needs a new one.
                identity = transaction.identity() or transaction.set_identity(
                    *new_secret(self._randomness())
                )
            after = page[-1].position
            name = pseudonym(identity.secret, day)
            reports = [item.report for item in page]
            for batch in batches(day, name, reports, self.collector.room):
                self._deliver(day, name, batch, under_way)

    def _deliver(self, day: date, name: bytes, batch: Sequence[Report], under_way: _Pass) -> None:
        """Send a batch, halving it where the collector can't take it whole."""
        groups = [list(batch)]
        while groups:
            group = groups.pop()
            response = self._request(day, name, group, under_way)
            if response is None:
                continue
            if condemns(response):
                self._refuse(response, group, under_way)
            if must_split(response) and len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
            elif condemns(response):
                continue
            elif not self._apply_verdicts(response, group, under_way):
                self.collector.end(response)

    def _refuse(self, response: Response, group: list[Report], under_way: _Pass) -> None:
        """Note that none of a batch was counted; drop and count a report that is alone."""
        ids = [report.id for report in group]
        with self._state.transaction() as transaction:
            transaction.refused(ids)
            if len(ids) == 1:
                reason = TOO_LARGE if response.status == 413 else REFUSED
                under_way.dropped += transaction.withdraw(ids, reason)

    def _apply_verdicts(self, response: Response, group: list[Report], under_way: _Pass) -> bool:
        """Do what a 200 says of each report; False where the answer is something else."""
        reports = by_text(group)
        answered = verdicts(response, reports)
        if answered is None:
            return False
        sent = [
            Sent(reports[report_id], verdict, reason)
            for report_id, (verdict, reason) in answered.items()
            if verdict is not Verdict.RETRY
        ]
        with self._state.transaction() as transaction:
            transaction.apply_verdicts(sent)
            for name in (_ASKED_UNTIL, _REST_UNTIL, _FAILURES):
                transaction.set_note(name, None)
        for verdict, _ in answered.values():
            under_way.verdicts[verdict] += 1
        self.collector.succeeded(response, owes=len(sent) < len(group))
        return True

    def _request(
        self, day: date, name: bytes, group: list[Report], under_way: _Pass
    ) -> Response | None:
        """Return the answer to a batch; None where none of it is to be sent any more."""
        while True:
            with self._in_flight:
                granted = {p for p in {report.purpose for report in group} if self._granted(p)}
                under_way.withheld += sum(report.purpose not in granted for report in group)
                with self._state.transaction() as transaction:
                    ids = [report.id for report in group if report.purpose in granted]
                    still_waiting = transaction.attempt(ids)
                    if still_waiting:
                        self._note_try(transaction)
                group[:] = [report for report in group if report.id in still_waiting]
                if not group:
                    return None
                body = encode_batch(day, name, group)
                response = self.collector.post(REPORTS_PATH, body, under_way.deadline)
            if response is not None:
                return response


def drain(uploader: Uploader, deadline: float | None, patience: float) -> FlushResult:
    """Make one pass until `deadline`, as soon as no one else is making one.

    Gives up on those others at `patience`. Both are on the monotonic clock.
    """
    while True:
        result = uploader.run(deadline)
        if result.status is not UploadStatus.ELSEWHERE or monotonic() + _TURN_POLL >= patience:
            return result
        sleep(_TURN_POLL)
