"""The HTTP transport of a device: one request on a connection of its own, below every hook.

The request is written by hand, so that no header leaves that we didn't set: tools that trace an app
wrap `urllib.request` and `http.client.HTTPConnection`, and would add their own to each request of
ours, alike on two days. The answer is read by `http.client`, up to a size and one deadline. No
redirect is followed: the collector never redirects, and who does may point to another host. A
connection serves one request, so that two days' batches don't share one.
"""

from __future__ import annotations

import os
import socket
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from urllib.parse import SplitResult, urlsplit

from rumor_client.errors import NoAnswer
from rumor_client.upload.connection import Channel, Deadline, Proxy, connect, proxy_for
from rumor_client.upload.transport import Request, Response

# The longest honest answer has 500 verdicts of some 150 bytes each; what is longer is not ours.
MAX_ANSWER_BYTES = 1 << 20
_CHUNK = 1 << 16


def send(request: Request) -> Response:
    """Send a request and return the answer, whatever its status. Raises NoAnswer."""
    deadline = Deadline(request.timeout)
    url = urlsplit(request.url)
    proxy = proxy_for(url)
    via = " by the proxy that is set" if proxy else ""
    try:
        channel = connect(url, proxy, deadline)
        try:
            channel.send(_head(request, url, proxy) + request.body)
            return _read(channel, request.method, deadline)
        finally:
            channel.close()
    except TimeoutError:
        raise NoAnswer(f"nothing came within {request.timeout:.3g} s{via}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(f"{_said(error)}{via}") from None


def _head(request: Request, url: SplitResult, proxy: Proxy | None) -> bytes:
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    host = url.netloc.rpartition("@")[2]
    headers = dict(request.headers)
    target = path
    if proxy is not None and url.scheme == "http":
        target = f"http://{host}{path}"
        if proxy.authorization:
            headers["Proxy-Authorization"] = proxy.authorization
    lines = [f"{request.method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    # A proxy that compresses answers would change what it can't read.
    lines += ["Accept-Encoding: identity", f"Content-Length: {len(request.body)}"]
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode("ascii")


def _read(channel: Channel, method: str, deadline: Deadline) -> Response:
    # It asks for nothing of a socket but a file.
    answer = HTTPResponse(channel, method=method)  # type: ignore[arg-type]
    try:
        answer.begin()
        body = bytearray()
        while chunk := answer.read1(_CHUNK):
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise NoAnswer("the answer is too long")
            deadline.left()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, headers, bytes(body))
    finally:
        answer.close()


def _said(error: Exception) -> str:
    """Return what failed, in words that repeat neither address nor data."""
    verified = getattr(error, "verify_message", None)
    if verified:
        named = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ]
        cause = f"; look at {' and '.join(named)}" if named else ""
        return f"the collector's certificate was refused ({verified}){cause}"
    match error:
        case socket.gaierror():
            return "the name of the collector has no address"
        case ConnectionRefusedError():
            return "nothing listens there (connection refused)"
        case RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "the connection was closed without an answer"
        case HTTPException() | ValueError():
            return f"the answer is not HTTP ({type(error).__name__})"
    if type(error).__module__ == "ssl":
        return f"TLS failed ({getattr(error, 'reason', None) or type(error).__name__})"
    return f"the network failed ({getattr(error, 'strerror', None) or type(error).__name__})"
