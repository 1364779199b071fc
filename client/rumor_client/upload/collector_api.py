"""The HTTP client of the collector: one request at a time, and what an error status means.

| answer | the client |
|---|---|
| 415 | sends the same uncompressed, once; then stops |
| 401, 403, other 4xx, each as a problem of RFC 9457 | stops, keeps everything, says so |
| 407, and any 4xx that is no such problem | not the collector's: a fault |
| 429, 503 | keeps; waits for `Retry-After`, or backs off |
| 408, 425, 500, 502, 504, other 5xx, no answer | keeps; backs off |
| 507 | keeps; waits half an hour to an hour |
| another 2xx, 3xx | acknowledges nothing: a fault |

This is the part of design section 7's table that reports and retractions share, with the rows it
leaves open.
"""

from __future__ import annotations

from time import monotonic
from typing import NoReturn

from rumor_client.errors import NoAnswer
from rumor_client.process.clock import Clock
from rumor_client.upload.backoff import Jitter, long_wait, retry_after, uniform, wait_after
from rumor_client.upload.encoding import SDK, compress
from rumor_client.upload.response import is_ours
from rumor_client.upload.result import UploadStatus
from rumor_client.upload.transport import Request, Response, Transport
from rumor_shared.wire import JSON, MAX_BATCH_BYTES, PROBLEM

# Longer than a collector's slowest commit, shorter than a person's patience with a hung app.
REQUEST_TIMEOUT = 10.0

_TRY_AGAIN = frozenset({408, 425})
_ASK_LATER = frozenset({429, 503})
_WHOSE = "look at proxies, portals and what stands in front of it"


class Ended(Exception):
    """What was under way can't go on: `retry_in` seconds from now, or not by itself for None."""

    def __init__(self, status: UploadStatus, retry_in: float | None, detail: str) -> None:
        self.status = status
        self.retry_in = retry_in
        self.detail = detail
        super().__init__(detail)


class CollectorApi:
    """Sends requests, and remembers what it has learnt of the collector.

    `stopped` says why the collector refuses this client, None while it doesn't.
    """

    def __init__(
        self,
        endpoint: str,
        key: str | None,
        transport: Transport,
        clock: Clock,
        jitter: Jitter | None = None,
    ) -> None:
        self.stopped: str | None = None
        self.jitter = jitter or uniform
        self._endpoint = endpoint
        self._key = key
        self._transport = transport
        self._clock = clock
        # What a body may have in bytes: less where something on the way takes less.
        self.room = MAX_BATCH_BYTES
        self.failures = 0
        self._compresses = True
        self._not_before = 0.0

    def check_wait(self) -> None:
        """Raise Ended while the collector has asked to be left alone."""
        left = self.asked()
        if left > 0:
            raise Ended(UploadStatus.LATER, left, "the collector asked to wait")

    def asked(self) -> float:
        """Return the seconds for which the collector has asked to be left alone."""
        return max(0.0, self._not_before - monotonic())

    def wait(self, seconds: float) -> None:
        """Leave the collector alone for so long, if not for longer."""
        self._not_before = max(self._not_before, monotonic() + seconds)

    def post(self, path: str, body: bytes, deadline: float | None) -> Response | None:
        """Send `body` and return the answer; None where it is to be sent again, uncompressed.

        `deadline` is on the monotonic clock. Raises Ended where time is up or no answer comes.
        """
        timeout = REQUEST_TIMEOUT
        if deadline is not None:
            timeout = min(timeout, deadline - monotonic())
            if timeout <= 0:
                raise Ended(UploadStatus.TIMEOUT, None, "time was up")
        packed = compress(body) if self._compresses else None
        headers = {"Content-Type": JSON, "Accept": f"{JSON}, {PROBLEM}", "User-Agent": SDK}
        if packed is not None:
            headers["Content-Encoding"] = "gzip"
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request("POST", self._endpoint + path, headers, packed or body, timeout)
        try:
            response = self._transport(request)
        except NoAnswer as error:
            raise Ended(UploadStatus.LATER, self.back_off(), str(error)) from None
        except ImportError:
            detail = "the network's part of the client can't be loaded"
            raise Ended(UploadStatus.LATER, self.back_off(), detail) from None
        except Exception as error:  # an app's transport must not end our thread
            detail = f"the transport failed: {type(error).__name__}"
            raise Ended(UploadStatus.LATER, self.back_off(), detail) from None
        if response.status == 415 and packed is not None:
            self._compresses = False
            return None
        if response.status == 413:
            self.room = min(self.room, len(body) // 2)
        elif response.status == 200:
            self.room = max(self.room, len(body))
        return response

    def succeeded(self, response: Response, *, owes: bool) -> None:
        """Say that the collector has answered as it should; `owes` if some is to be sent again.

        Raises Ended where it then asks to wait.
        """
        self.failures = 0
        self.stopped = None
        asked = retry_after(response.headers.get("retry-after"), self._clock())
        if owes and asked is not None:
            self.wait(asked)
            raise Ended(UploadStatus.LATER, asked, "the collector asked to send some again later")

    def back_off(self) -> float:
        """Count a failure, and return the seconds to wait after it."""
        self.failures += 1
        return wait_after(self.failures, self.jitter)

    def end(self, response: Response) -> NoReturn:
        """Raise Ended over an answer that settles nothing."""
        status = response.status
        detail = f"the collector answered {status}"
        if status in _ASK_LATER:
            asked = retry_after(response.headers.get("retry-after"), self._clock())
            if asked is not None:
                self.wait(asked)
            raise Ended(UploadStatus.LATER, asked or self.back_off(), detail)
        if status == 507:
            asked = long_wait(self.jitter)
            self.wait(asked)
            raise Ended(UploadStatus.LATER, asked, detail)
        if 400 <= status < 500 and status not in _TRY_AGAIN and is_ours(response):
            self.stopped = detail
            raise Ended(UploadStatus.STOPPED, None, detail)
        if status < 500 and status not in _TRY_AGAIN:
            detail = f"an answer with status {status} is not the collector's: {_WHOSE}"
        raise Ended(UploadStatus.LATER, self.back_off(), detail)


def must_split(response: Response) -> bool:
    """Return whether a batch is to be halved: too large (413), or not the schema (400).

    A smaller one may pass whatever it was that found it too large.
    """
    return response.status == 413 or condemns(response)


def condemns(response: Response) -> bool:
    """Return whether a report that is alone can never be taken: the collector itself says so."""
    return response.status in (400, 413) and is_ours(response)
