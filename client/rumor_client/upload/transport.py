"""The transport interface: one call, a request in and a response out.

A test passes a plain function. What a device uses is `rumor_client.upload.http_transport.send`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rumor_client.errors import ConfigurationError
from rumor_shared.wire import REPORTS_PATH, RETRACTIONS_PATH


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


_FORM = "write https://host[:port][/path]"


def check_endpoint(endpoint: str) -> str:
    """Return the collector's base URL without a slash at its end.

    Raises ConfigurationError for what can never work; what only a look-up can refuse is met later.
    """
    from urllib.parse import urlsplit  # only a client with an endpoint pays for it

    _check_characters(endpoint)
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        raise ConfigurationError("endpoint", "is not a URL", _FORM) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("endpoint", "is not a URL", _FORM)
    if parts.query or parts.fragment or parts.username is not None or parts.password is not None:
        raise ConfigurationError("endpoint", "has a query, fragment or user", _FORM)
    if port == 0:
        raise ConfigurationError("endpoint", "has the port 0, where nothing listens", _FORM)
    if "[" not in parts.netloc:
        _check_host(parts.hostname)
    for route in (REPORTS_PATH, RETRACTIONS_PATH):
        if parts.path.rstrip("/").endswith(route):
            raise ConfigurationError("endpoint", f"ends in {route}", "leave that out")
    return endpoint.rstrip("/")


def _check_characters(endpoint: str) -> None:
    for at, character in enumerate(endpoint):
        if "!" <= character <= "~":
            continue
        where = "at its beginning" if at == 0 else f"at position {at}"
        if at == len(endpoint) - 1:
            where = "at its end"
        named = {" ": "a blank", "\t": "a tab", "\n": "a line break", "\r": "a line break"}
        what = named.get(character)
        if what is None:
            what = (
                f"{character!r}, which is not ASCII," if character > "~" else "a control character"
            )
        fix = (
            "write a host in its xn-- form, and a path with %XX" if character > "~" else "remove it"
        )
        raise ConfigurationError("endpoint", f"holds {what} {where}", fix)


def _check_host(host: str) -> None:
    """Refuse a name that no look-up could find: RFC 1035, section 2.3.4, and an underscore."""
    labels = host.removesuffix(".").split(".")
    sound = all(
        0 < len(label) <= 63 and label.replace("-", "").replace("_", "").isalnum()
        for label in labels
    )
    if not sound or len(host) > 253:
        raise ConfigurationError("endpoint", "has a host that can't be one", _FORM)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, whatever its interfaces."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    import ipaddress  # only a client with an endpoint pays for it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
