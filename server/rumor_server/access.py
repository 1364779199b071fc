"""Who may do what, as the settings say: scopes, what is open without a key, whose word is taken."""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from rumor_server.errors import SettingsError
from rumor_server.settings import Settings

# An origin as a browser writes it (RFC 6454): no path, no wildcard, a name in ASCII.
_ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")

Network = IPv4Network | IPv6Network


class Scope(StrEnum):
    """What a key is good for. An admin may also read; nobody but `ingest` sends reports."""

    INGEST = "ingest"
    """To send and to retract reports."""
    ANALYST = "analyst"
    """To read metrics, estimates and the dashboard."""
    ADMIN = "admin"
    """To read all that an analyst may, and `/metrics`."""

    def allows(self, wanted: Scope) -> bool:
        """Return whether a key of this scope may do what `wanted` names."""
        return self is wanted or (self is Scope.ADMIN and wanted is Scope.ANALYST)


# Which setting says who may do what a scope names.
ACCESS_SETTINGS = {
    "ingest_access": Scope.INGEST,
    "read_access": Scope.ANALYST,
    "metrics_access": Scope.ADMIN,
}


def open_scopes(settings: Settings) -> frozenset[Scope]:
    """Return what is open without a key. Raises SettingsError where nobody decided and must.

    On a loopback address what isn't decided is open. On any other, someone has to choose.
    """
    is_local = is_loopback(settings.host)
    chosen = set()
    for name, scope in ACCESS_SETTINGS.items():
        choice = getattr(settings, name)
        if not choice and not is_local:
            raise SettingsError(
                name,
                "is not decided, and the collector would listen to other machines",
                'set it to "key" (see `rumor keys create`), or to "open" to let everyone in',
            )
        if choice in ("", "open"):
            chosen.add(scope)
    return frozenset(chosen)


def undecided_scopes(settings: Settings) -> frozenset[Scope]:
    """Return what is open only because nobody decided and this machine alone can call."""
    return frozenset(
        scope
        for name, scope in ACCESS_SETTINGS.items()
        if not getattr(settings, name) and is_loopback(settings.host)
    )


def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def parse_proxies(text: str) -> tuple[Network, ...]:
    """Return the networks of a list with commas. Raises SettingsError."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise SettingsError(
            "trusted_proxies", "is not a list of addresses and networks", "write 10.0.0.0/8"
        ) from None


def parse_origins(text: str) -> tuple[str, ...]:
    """Return the origins of a list with commas. Raises SettingsError."""
    origins = tuple(one.strip() for one in text.split(",") if one.strip())
    if not all(_ORIGIN.fullmatch(one) for one in origins):
        raise SettingsError(
            "cors_origins",
            "is not a list of origins",
            "write https://app.example.org, without a path; to let every page call, name them all",
        )
    return origins


def parse_root_path(text: str) -> str:
    """Return the path under which a proxy offers the collector. Raises SettingsError."""
    if not _ROOT_PATH.fullmatch(text):
        raise SettingsError("root_path", "is not a path", "write /rumor, without / at its end")
    return text


def check_contradictions(settings: Settings) -> None:
    """Raise SettingsError for what no single setting shows: who may do what, and lists in texts."""
    open_scopes(settings)
    parse_proxies(settings.trusted_proxies)
    parse_origins(settings.cors_origins)
    parse_root_path(settings.root_path)
