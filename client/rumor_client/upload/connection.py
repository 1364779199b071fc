"""The connection to a collector: names, proxies and TLS, each within the request's deadline.

A name is looked up within the deadline too, which the system's resolver does not know of. Proxies
come from the environment, or from the system's settings where it has some; a collector on this very
machine is never behind one. TLS certificates are verified.
"""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import threading
from contextlib import ExitStack
from functools import cache
from io import RawIOBase
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from rumor_client.errors import NoAnswer
from rumor_client.upload.transport import is_loopback

if TYPE_CHECKING:
    import ssl

# How much is sent before it is looked whether an answer has come: a collector may refuse a batch
# for its size with the body unread.
_CHUNK = 1 << 14
# A proxy's answer to CONNECT is a status line and a few headers.
_MAX_TUNNEL_BYTES = 1 << 16


class Proxy(NamedTuple):
    """A proxy: where it listens, and the value of `Proxy-Authorization` if it asks for one."""

    host: str
    port: int
    authorization: str | None


class Deadline:
    """A moment of the monotonic clock, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._at = monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left. Raises TimeoutError where none is."""
        left = self._at - monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class Channel:
    """A connected socket on which each step keeps to one deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def send(self, data: bytes) -> None:
        """Send all of it, or as much as is wanted: an answer may come before the end.

        What goes wrong is met again by who reads the answer, if there is none.
        """
        plain = type(self._socket) is socket.socket
        for at in range(0, len(data), _CHUNK):
            # Over TLS what can be read may be no answer, but a new session ticket.
            if at and plain and select.select([self._socket], (), (), 0)[0]:
                return
            self._socket.settimeout(self._deadline.left())
            try:
                self._socket.sendall(data[at : at + _CHUNK])
            except (BrokenPipeError, ConnectionResetError):
                return

    def makefile(self, _mode: str) -> Any:
        """Return a file to read the answer from, as `http.client.HTTPResponse` asks for one."""
        from io import BufferedReader

        return BufferedReader(_Reader(self._socket, self._deadline))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class _Reader(RawIOBase):
    """What a socket receives. A server that drips can't hold the device beyond the deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(self._deadline.left())
        return self._socket.recv_into(buffer)


def proxy_for(url: SplitResult) -> Proxy | None:
    """Return the proxy that a request has to take. Raises NoAnswer for one that can't be read."""
    host = url.hostname or ""
    if is_loopback(host):
        return None
    # An app may set its proxy variables late.
    proxies = getproxies()
    given = proxies.get(url.scheme) or proxies.get("all")
    if not given or proxy_bypass(url.netloc.rpartition("@")[2]):
        return None
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        port = parts.port or 80
    except ValueError:
        raise NoAnswer(f"the proxy that is set for {url.scheme} is no address") from None
    if parts.scheme != "http" or not parts.hostname:
        raise NoAnswer(f"the proxy that is set for {url.scheme} is not one of HTTP")
    authorization = None
    if parts.username is not None:
        from base64 import b64encode

        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(pair.encode()).decode("ascii")
    return Proxy(parts.hostname, port, authorization)


def connect(url: SplitResult, proxy: Proxy | None, deadline: Deadline) -> Channel:
    """Return a connection to the collector, through the proxy if there is one.

    Raises NoAnswer, OSError and TimeoutError.
    """
    host = url.hostname or ""
    port = url.port or (443 if url.scheme == "https" else 80)
    with ExitStack() as on_failure:
        reached = _reach(*((proxy.host, proxy.port) if proxy else (host, port)), deadline)
        on_failure.callback(reached.close)
        if url.scheme == "https":
            if proxy:
                _tunnel(reached, host, port, proxy, deadline)
            reached.settimeout(deadline.left())
            context = tls()
            # Closes the plain socket where it fails.
            reached = context.wrap_socket(reached, server_hostname=host)
            on_failure.callback(reached.close)
        on_failure.pop_all()
    return Channel(reached, deadline)


@cache
def tls() -> ssl.SSLContext:
    """Return what verifies certificates. Raises NoAnswer where it can't be made."""
    try:
        # Reads the system's certificates, some 20 ms: once a process, and never for plain HTTP.
        import ssl

        return ssl.create_default_context()
    except (OSError, ValueError, ImportError) as error:
        named = [
            name
            for name in ("SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR")
            if name in os.environ
        ]
        cause = f"; look at {' and '.join(named)}" if named else ""
        raise NoAnswer(f"TLS can't be set up ({_word(error)}){cause}") from None


def _word(error: BaseException) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def _reach(host: str, port: int, deadline: Deadline) -> socket.socket:
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "the name has no address")
    for address in _addresses(host, port, deadline):
        try:
            return socket.create_connection((address, port), deadline.left())
        except TimeoutError:
            raise
        except OSError as error:
            failure = error
    raise failure


def _addresses(host: str, port: int, deadline: Deadline) -> list[str]:
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
        except UnicodeError:
            # A label that is empty or too long, for a name that a proxy's setting holds.
            failed.append(socket.gaierror(socket.EAI_NONAME, "the name can't be one"))
        else:
            found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # `getaddrinfo` can't be interrupted: a thread that still waits for it is left behind.
    thread = threading.Thread(target=look_up, name="rumor-look-up", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # No thread starts any more while the interpreter ends, or where there are none.
        look_up()
    else:
        thread.join(deadline.left())
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found


def _tunnel(reached: socket.socket, host: str, port: int, proxy: Proxy, deadline: Deadline) -> None:
    """Ask the proxy for a tunnel (RFC 9110, section 9.3.6). Raises NoAnswer where it refuses."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n"
    if proxy.authorization:
        head += f"Proxy-Authorization: {proxy.authorization}\r\n"
    reached.settimeout(deadline.left())
    reached.sendall(f"{head}\r\n".encode("ascii"))
    answer = b""
    while b"\r\n\r\n" not in answer and b"\n\n" not in answer:
        reached.settimeout(deadline.left())
        more = reached.recv(1)
        if not more or len(answer) > _MAX_TUNNEL_BYTES:
            raise NoAnswer("the proxy closed the connection")
        answer += more
    status = answer.split(b"\n", 1)[0].decode("latin-1").split()
    if len(status) < 2 or not status[1].isdigit():
        raise NoAnswer("the proxy's answer is not HTTP")
    if not status[1].startswith("2"):
        raise NoAnswer(f"the proxy answered {status[1]} to CONNECT")
