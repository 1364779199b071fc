"""Rate limit by IP address, for requests without a key: in memory alone, for a minute at most.

No address is written anywhere. A counter is found by a keyed hash, whose key dies with the process.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import Scope

from rumor_server.errors import TooManyRequests
from rumor_server.settings import Network

# Whoever has one IPv6 address has its /64.
_SITE = 64
# Beyond this many callers within a minute the rest share one counter: memory stays bounded.
_MOST = 100_000
_MINUTE = 60


def caller(scope: Scope, proxies: tuple[Network, ...]) -> str:
    """Return the address that sent a request; "" where there is none.

    X-Forwarded-For is believed from the right, for as long as a trusted proxy added the entry. What
    stands left of that may be anyone's invention.
    """
    client = scope.get("client")
    address = client[0] if client else ""
    forwarded = [
        part.strip()
        for name, value in scope["headers"]
        if name == b"x-forwarded-for"
        for part in value.decode("latin-1").split(",")
    ]
    while forwarded and _within(address, proxies):
        nearer = forwarded.pop()
        try:
            ip_address(nearer)
        except ValueError:
            break
        address = nearer
    return address


def _within(address: str, networks: tuple[Network, ...]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


class IpRateLimit:
    """At most `requests` a minute from one address, or /64 of IPv6; 0 is no limit."""

    def __init__(
        self, requests: int, proxies: tuple[Network, ...], seconds: Callable[[], float] = time.time
    ) -> None:
        self._requests = requests
        self._proxies = proxies
        self._seconds = seconds
        self._minute = 0
        self._key = b""
        self._counts: dict[bytes, int] = {}

    def take(self, scope: Scope) -> None:
        """Count a request. Raises TooManyRequests."""
        if not self._requests:
            return
        now = int(self._seconds())
        if now // _MINUTE != self._minute:
            self._minute = now // _MINUTE
            self._key = secrets.token_bytes(32)
            self._counts = {}
        who = self._who(caller(scope, self._proxies))
        if who not in self._counts and len(self._counts) >= _MOST:
            who = b""
        count = self._counts.get(who, 0)
        if count >= self._requests:
            raise TooManyRequests("this address's number of requests", _MINUTE - now % _MINUTE)
        self._counts[who] = count + 1

    def _who(self, address: str) -> bytes:
        try:
            parsed = ip_address(address)
        except ValueError:
            site = address
        else:
            is_six = isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None
            site = str(ip_network((parsed, _SITE), strict=False)) if is_six else str(parsed)
        return hashlib.blake2b(site.encode(), digest_size=16, key=self._key).digest()
