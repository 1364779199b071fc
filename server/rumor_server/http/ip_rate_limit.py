"""Rate limit by IP address, for requests without a key: in memory alone, for a minute at most.

No address is written anywhere. A counter is found by a keyed hash, whose key dies with the process.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.types import Scope

from rumor_server.access import Network
from rumor_server.errors import TooManyRequests
from rumor_server.operations.logs import Throttled

Address = IPv4Address | IPv6Address

# Whoever has one IPv6 address has its /64.
_SITE = 64
# Beyond this many callers within a minute the rest share one counter: memory stays bounded.
_MOST = 100_000
_MINUTE = 60
# IPv4 as clients of an IPv6 network write it (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")

log = Throttled(logging.getLogger(__name__), 3600)


def parse_address(text: str) -> Address | None:
    """Return the address in one entry of X-Forwarded-For; None where there is none.

    Gateways add a port, brackets, quotes or a zone; an IPv4 address within one of IPv6 is that.
    """
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def caller(scope: Scope, proxies: tuple[Network, ...]) -> tuple[Address | None, bool]:
    """Return the address that sent a request, and whether an entry of a proxy could be read.

    X-Forwarded-For is believed from the right, for as long as a trusted proxy added the entry. What
    stands left of that may be anyone's invention.
    """
    client = scope.get("client")
    address = parse_address(client[0]) if client else None
    forwarded = [
        part
        for name, value in scope["headers"]
        if name == b"x-forwarded-for"
        for part in value.decode("latin-1").split(",")
    ]
    while forwarded and address is not None and any(address in one for one in proxies):
        nearer = parse_address(forwarded.pop())
        if nearer is None:
            return address, False
        address = nearer
    return address, True


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
        # Requests whose forwarded address could not be read.
        self.unreadable = 0

    def take(self, scope: Scope) -> None:
        """Count a request. Raises TooManyRequests."""
        if not self._requests:
            return
        now = int(self._seconds())
        if now // _MINUTE != self._minute:
            self._minute = now // _MINUTE
            self._key = secrets.token_bytes(32)
            self._counts = {}
        address, is_readable = caller(scope, self._proxies)
        if not is_readable:
            self.unreadable += 1
            log.warning(
                "an entry of X-Forwarded-For is no address: those behind that proxy share a limit"
            )
        who = self._who(address)
        if who not in self._counts and len(self._counts) >= _MOST:
            who = b""
        count = self._counts.get(who, 0)
        if count >= self._requests:
            raise TooManyRequests("this address's number of requests", _MINUTE - now % _MINUTE)
        self._counts[who] = count + 1

    def _who(self, address: Address | None) -> bytes:
        site = "" if address is None else str(address)
        if isinstance(address, IPv6Address):
            site = str(ip_network((address, _SITE), strict=False))
        return hashlib.blake2b(site.encode(), digest_size=16, key=self._key).digest()
