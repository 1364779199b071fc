"""The transport interface: one call, a request in and a response out.

A test passes a plain function. What a device uses is `rumor_client.upload.urllib_transport.send`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rumor_client.errors import ConfigurationError


@dataclass(frozen=True)
class Request:
    """An HTTP request. `timeout` bounds the whole exchange, in seconds."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    timeout: float


@dataclass(frozen=True)
class Response:
    """An HTTP response; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


Transport = Callable[[Request], Response]


def check_endpoint(endpoint: str) -> str:
    """Return the collector's base URL without a slash at its end. Raises ConfigurationError."""
    from urllib.parse import urlsplit  # only a client with an endpoint pays for it

    try:
        parts = urlsplit(endpoint)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("endpoint", "is not a URL", "write https://host[:port][/path]")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise ConfigurationError(
            "endpoint", "has a query, fragment or user", "write https://host[:port][/path]"
        )
    return endpoint.rstrip("/")
