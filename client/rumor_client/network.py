"""The transport of a device: the standard library's HTTP client, with its defaults made strict.

TLS certificates are verified. Proxies come from the environment. No redirect is followed: the
collector never redirects, and who does may point to another host. A connection serves one request,
so that two days' batches don't share one. An answer is read up to a size and a deadline.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable
from functools import cache
from time import monotonic
from typing import IO, Any

from rumor_client.errors import NoAnswer
from rumor_client.transport import Request, Response

# The longest honest answer has 500 verdicts of some 150 bytes each; what is longer is not ours.
MAX_ANSWER_BYTES = 1 << 20
_CHUNK = 1 << 16


def send(request: Request) -> Response:
    """Send a request and return the answer, whatever its status. Raises NoAnswer."""
    deadline = monotonic() + request.timeout
    outgoing = urllib.request.Request(  # noqa: S310 - `check_endpoint` allows http and https alone
        request.url, data=request.body, headers=dict(request.headers), method=request.method
    )
    try:
        with _opener().open(outgoing, timeout=request.timeout) as answer:
            return _read(answer.status, answer.headers.items(), answer, deadline)
    except urllib.error.HTTPError as error:
        with error:
            return _failed(error, deadline)
    except (OSError, http.client.HTTPException, ValueError) as error:
        # The message of a URLError may repeat the address; its kind says enough.
        raise NoAnswer(type(getattr(error, "reason", error)).__name__) from None


def _failed(error: urllib.error.HTTPError, deadline: float) -> Response:
    try:
        return _read(error.code, error.headers.items(), error, deadline)
    except (OSError, http.client.HTTPException, ValueError) as broken:
        raise NoAnswer(type(broken).__name__) from None


def _read(
    status: int, headers: Iterable[tuple[str, str]], answer: IO[Any], deadline: float
) -> Response:
    body = bytearray()
    # `read1` returns what has come: a server that drips can't hold the device beyond the deadline.
    while chunk := answer.read1(_CHUNK):  # type: ignore[attr-defined]
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise NoAnswer("the answer is too long")
        if monotonic() > deadline:
            raise NoAnswer("the answer took too long")
    return Response(status, {name.lower(): value for name, value in headers}, bytes(body))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


@cache
def _tls() -> ssl.SSLContext:
    # Reads the system's certificates, some 20 ms: once a process.
    return ssl.create_default_context()


def _opener() -> urllib.request.OpenerDirector:
    # Made anew each time, since an app may set its proxy variables late. `build_opener` would add
    # handlers of files and FTP, for a collector that answers with neither.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_tls()),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _NoRedirect(),
    ):
        opener.add_handler(handler)
    return opener
