"""The HTTP transport of a device: the standard library's client, with its defaults made strict.

TLS certificates are verified. Proxies come from the environment. No redirect is followed: the
collector never redirects, and who does may point to another host. A connection serves one request,
so that two days' batches don't share one. An answer is read up to a size and a deadline, and a name
is looked up within the deadline too, which the system's resolver does not know of.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from functools import cache, lru_cache
from time import monotonic
from typing import IO, Any

from rumor_client.errors import NoAnswer
from rumor_client.upload.transport import Request, Response

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


def _connect(
    address: tuple[str, int], timeout: float, source: tuple[str, int] | None = None
) -> socket.socket:
    """Connect as `socket.create_connection` does, with the look-up of the name in `timeout` too."""
    deadline = monotonic() + timeout
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "the name has no address")
    for host in _addresses(*address, timeout):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            return socket.create_connection((host, address[1]), left, source)
        except OSError as error:
            failure = error
    raise failure


def _addresses(host: str, port: int, timeout: float) -> list[str]:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return [host]
    found: list[str] = []
    failed: list[OSError] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            failed.append(error)
        else:
            found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # `getaddrinfo` can't be interrupted: a thread that still waits for it is left behind.
    thread = threading.Thread(target=look_up, name="rumor-look-up", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # No thread starts any more while the interpreter ends.
        look_up()
    else:
        thread.join(timeout)
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found


class _Connection(http.client.HTTPConnection):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        # The seam of CPython's own tests, from 3.5 to 3.14; `connect` builds tunnels on it.
        self._create_connection = _connect


class _TlsConnection(http.client.HTTPSConnection):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._create_connection = _connect


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_TlsConnection, req, context=_tls())


def _opener() -> urllib.request.OpenerDirector:
    # An app may set its proxy variables late, and an opener costs a millisecond.
    return _opener_for(tuple(sorted(urllib.request.getproxies().items())))


@lru_cache(maxsize=4)
def _opener_for(proxies: tuple[tuple[str, str], ...]) -> urllib.request.OpenerDirector:
    # `build_opener` would add handlers of files and FTP, for a collector that answers with neither.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(dict(proxies)),
        _Http(),
        _Https(context=_tls()),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _NoRedirect(),
    ):
        opener.add_handler(handler)
    return opener
