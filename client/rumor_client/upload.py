"""One pass over the outbox: send each day's batches, and do what the answer says.

| answer | the client |
|---|---|
| 200 with verdicts | removes accepted, duplicate and rejected by id; keeps the others |
| another 2xx, 3xx, an HTML page | acknowledges nothing: a fault |
| 400 | halves the batch until the poison report is alone; drops and counts it |
| 413 | halves the batch; drops and counts a report that is too large alone |
| 415 | sends the same uncompressed, once; then stops |
| 401, 403, other 4xx | stops, keeps everything, says so |
| 429, 503 | keeps; waits for `Retry-After`, or backs off |
| 408, 425, 500, 502, 504, other 5xx, no answer | keeps; backs off |
| 507 | keeps; waits half an hour to an hour |

This is the table of design section 7, with the rows it leaves open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from time import monotonic
from typing import NoReturn

from rumor_client import fork
from rumor_client.answer import by_text, is_html, verdicts
from rumor_client.backoff import Jitter, long_wait, retry_after, uniform, wait_after
from rumor_client.body import SDK, batches, body_of, compress
from rumor_client.clock import Clock
from rumor_client.delivery import FlushResult, UploadStatus
from rumor_client.errors import NoAnswer, StateBusy, StateUnavailable
from rumor_client.outbox import drop_expired
from rumor_client.perturbation import new_secret
from rumor_client.randomness import Randomness
from rumor_client.report import REFUSED, TOO_LARGE, Report, Sent
from rumor_client.state import State
from rumor_client.transport import Request, Response, Transport
from rumor_shared.days import utc_day
from rumor_shared.wire import (
    JSON,
    MAX_BATCH_REPORTS,
    PROBLEM,
    REPORTS_PATH,
    Verdict,
    pseudonym,
)

# Longer than a collector's slowest commit, shorter than a person's patience with a hung app.
REQUEST_TIMEOUT = 10.0

_TRY_AGAIN = frozenset({408, 425})
_ASK_LATER = frozenset({429, 503})


@dataclass
class _Pass:
    """A pass under way. `deadline` is on the monotonic clock."""

    deadline: float | None
    pause: Callable[[], bool]
    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    dropped: int = 0
    withheld: int = 0


class _Ended(Exception):
    """The pass can't go on."""

    def __init__(self, status: UploadStatus, retry_in: float | None, detail: str) -> None:
        self.status = status
        self.retry_in = retry_in
        self.detail = detail
        super().__init__(detail)


def _no_pause() -> bool:
    return True


class Uploader:
    """What sends, and what it has learnt of the collector so far.

    `granted(purpose)` is asked right before each request. `stopped` says why the collector refuses
    this client, None while it doesn't.
    """

    def __init__(
        self,
        endpoint: str,
        key: str | None,
        *,
        state: State,
        max_age_days: int,
        granted: Callable[[str], bool],
        clock: Clock,
        transport: Transport,
        randomness: Callable[[], Randomness],
        jitter: Jitter = uniform,
    ) -> None:
        self.stopped: str | None = None
        self._url = endpoint + REPORTS_PATH
        self._key = key
        self._state = state
        self._max_age_days = max_age_days
        self._granted = granted
        self._clock = clock
        self._transport = transport
        self._randomness = randomness
        self._jitter = jitter
        self._compresses = True
        self._failures = 0
        self._not_before = 0.0
        self._in_flight = threading.Lock()
        fork.watch(self)

    def let_go(self, wait: float) -> None:
        """Wait for the request under way, up to `wait` seconds: a denial came meanwhile."""
        if self._in_flight.acquire(timeout=wait):
            self._in_flight.release()

    def before_fork(self) -> None:
        """Do nothing: a fork must not wait for the network."""

    def after_fork(self, *, child: bool) -> None:
        """Start anew in a child, which has no request under way."""
        if child:
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
        except _Ended as ended:
            status, retry_in, detail = ended.status, ended.retry_in, ended.detail
        except (StateBusy, StateUnavailable) as error:
            status, retry_in, detail = UploadStatus.LATER, self._back_off(), str(error)
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

    def _visit_days(self, under_way: _Pass) -> None:
        left = self._not_before - monotonic()
        if left > 0:
            raise _Ended(UploadStatus.LATER, left, "the collector asked to wait")
        today = utc_day(self._clock())
        with self._state.transaction() as transaction:
            under_way.dropped += drop_expired(transaction, today, self._max_age_days)
            days = transaction.days()
        for number, day in enumerate(days):
            if number and not under_way.pause():
                raise _Ended(UploadStatus.TIMEOUT, None, "the upload was interrupted")
            self._send_day(day, under_way)

    def _send_day(self, day: date, under_way: _Pass) -> None:
        after = 0
        while True:
            with self._state.transaction() as transaction:
                page = transaction.waiting(day, after, MAX_BATCH_REPORTS)
                if not page:
                    return
                # A denial of one purpose took the secret; what waits for another needs a new one.
                identity = transaction.identity() or transaction.adopt(
                    *new_secret(self._randomness())
                )
            after = page[-1].position
            name = pseudonym(identity.secret, day)
            for batch in batches(day, name, [item.report for item in page]):
                self._deliver(day, name, batch, under_way)

    def _deliver(self, day: date, name: bytes, batch: Sequence[Report], under_way: _Pass) -> None:
        """Send a batch, halving it where the collector can't take it whole."""
        groups = [list(batch)]
        while groups:
            group = groups.pop()
            response = self._exchange(day, name, group, under_way)
            if response is None:
                continue
            if response.status == 413 or (response.status == 400 and not is_html(response)):
                if len(group) > 1:
                    middle = len(group) // 2
                    groups += [group[middle:], group[:middle]]
                else:
                    reason = TOO_LARGE if response.status == 413 else REFUSED
                    with self._state.transaction() as transaction:
                        under_way.dropped += transaction.drop([group[0].id], reason)
            elif not self._settle(response, group, under_way):
                self._end(response)

    def _settle(self, response: Response, group: list[Report], under_way: _Pass) -> bool:
        """Do what a 200 says of each report; False where the answer is something else."""
        reports = by_text(group)
        answered = verdicts(response, reports)
        if answered is None:
            return False
        self._failures = 0
        self.stopped = None
        sent = [
            Sent(reports[report_id], verdict, reason)
            for report_id, (verdict, reason) in answered.items()
            if verdict is not Verdict.RETRY
        ]
        with self._state.transaction() as transaction:
            transaction.settle(sent)
        for verdict, _ in answered.values():
            under_way.verdicts[verdict] += 1
        return True

    def _exchange(
        self, day: date, name: bytes, group: list[Report], under_way: _Pass
    ) -> Response | None:
        """Return the answer to a batch; None where there is no consent to send any of it."""
        while True:
            with self._in_flight:
                granted = {p for p in {report.purpose for report in group} if self._granted(p)}
                under_way.withheld += sum(report.purpose not in granted for report in group)
                group[:] = [report for report in group if report.purpose in granted]
                if not group:
                    return None
                body = body_of(day, name, group)
                packed = compress(body) if self._compresses else None
                response = self._send(packed or body, packed is not None, under_way)
            if response.status != 415 or packed is None:
                return response
            self._compresses = False

    def _send(self, body: bytes, packed: bool, under_way: _Pass) -> Response:
        timeout = REQUEST_TIMEOUT
        if under_way.deadline is not None:
            timeout = min(timeout, under_way.deadline - monotonic())
            if timeout <= 0:
                raise _Ended(UploadStatus.TIMEOUT, None, "time was up")
        headers = {"Content-Type": JSON, "Accept": f"{JSON}, {PROBLEM}", "User-Agent": SDK}
        if packed:
            headers["Content-Encoding"] = "gzip"
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            return self._transport(Request("POST", self._url, headers, body, timeout))
        except NoAnswer as error:
            detail = str(error)
        except Exception as error:  # an app's transport must not end our thread
            detail = f"the transport failed: {type(error).__name__}"
        raise _Ended(UploadStatus.LATER, self._back_off(), detail)

    def _end(self, response: Response) -> NoReturn:
        """End the pass over an answer that settles nothing."""
        status = response.status
        detail = f"the collector answered {status}"
        if status in _ASK_LATER:
            asked = retry_after(response.headers.get("retry-after"), self._clock())
            if asked is not None:
                self._not_before = monotonic() + asked
            raise _Ended(UploadStatus.LATER, asked or self._back_off(), detail)
        if status == 507:
            asked = long_wait(self._jitter)
            self._not_before = monotonic() + asked
            raise _Ended(UploadStatus.LATER, asked, detail)
        if 400 <= status < 500 and status not in _TRY_AGAIN and not is_html(response):
            self.stopped = detail
            raise _Ended(UploadStatus.STOPPED, None, detail)
        if status < 400:
            detail = f"an answer with status {status} is not the collector's"
        raise _Ended(UploadStatus.LATER, self._back_off(), detail)

    def _back_off(self) -> float:
        self._failures += 1
        return wait_after(self._failures, self._jitter)
