"""Validation of the arguments of `Client`: each is checked and made into what the client uses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rumor_client.errors import ConfigurationError, StateUnavailable
from rumor_client.process.lazy_imports import importing
from rumor_client.process.log_once import log_once
from rumor_client.state.absent import AbsentState
from rumor_client.state.paths import state_path
from rumor_client.state.protocol import State
from rumor_shared.registry import Registry, load_registry, parse_registry

if TYPE_CHECKING:
    from rumor_client.upload.transport import Request, Response


def registry_from(given: Registry | str | os.PathLike[str] | bytes) -> Registry:
    """Return the registry itself, or the one in a file or in bytes.

    Raises RegistryError, and OSError for a file that can't be read.
    """
    if isinstance(given, Registry):
        return given
    return parse_registry(given) if isinstance(given, bytes) else load_registry(given)


def state_from(
    given: State | str | os.PathLike[str] | None, app: str | None, endpoint: str | None
) -> State:
    """Return the state itself, or the one in a file: at `given`, else at the app's own place."""
    if given is not None and not isinstance(given, str | os.PathLike):
        return given
    if given is None:
        try:
            given = state_path(app, endpoint)
        except StateUnavailable as error:
            # The app runs on without us: `record` says so, and one line of its log.
            return AbsentState(error.what)
    with importing:  # a simulation in memory needs no SQLite
        from rumor_client.state.sqlite_state import SqliteState

    return SqliteState(given)


def check_key(key: str | None) -> str | None:
    """Return the ingest key. Raises ConfigurationError where it is no bearer token."""
    # RFC 6750, section 2.1: what a bearer token is made of. Anything else could end the header.
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise ConfigurationError("key", "is not a bearer token", "give the key as it was issued")
    return key


def check_interval(seconds: float) -> float:
    """Return the seconds between two uploads. Raises ConfigurationError for what is none."""
    if not 0 < seconds < float("inf"):
        raise ConfigurationError("upload_interval", "is not a time", "give seconds above 0")
    return seconds


def warn_of_open_key(endpoint: str) -> None:
    """Log a warning, once, where a key travels unencrypted over more than this machine."""
    from urllib.parse import urlsplit

    from rumor_client.upload.transport import is_loopback

    parts = urlsplit(endpoint)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        log_once(
            "open key", "rumor: the key is sent over http, where others can read it; use https"
        )


def send(request: Request) -> Response:
    """Send a request with `rumor_client.upload.http_transport`. Raises NoAnswer."""
    with importing:  # http and TLS are the slowest imports of all
        from rumor_client.upload.http_transport import send

    return send(request)
