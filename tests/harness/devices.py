"""Devices for tests: a registry in a dictionary, a client in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from rumor_client import Client, State, Transport
from rumor_client.arguments import send
from rumor_client.process.clock import Clock
from rumor_client.testing import client_for
from rumor_client.testing.client import ENDPOINT
from rumor_client.testing.clock import NOON
from rumor_shared.registry import Registry, registry_of

# Other interpreters that a test starts find the tests' modules from here.
ROOT = Path(__file__).parents[2]
PURPOSE = "product improvement"

__all__ = ["ENDPOINT", "KRR", "NOON", "PURPOSE", "RAPPOR", "ROOT", "device", "registry_with"]

KRR: Mapping[str, Any] = {
    "mechanism": "krr",
    "epsilon": 1,
    "values": ["light", "dark", "system"],
    "daily_epsilon": 1000,
}
# As in the RAPPOR paper's evaluation: f, p, q far apart, so that a swap would show.
RAPPOR: Mapping[str, Any] = {
    "mechanism": "rappor",
    "bits": 32,
    "hashes": 2,
    "cohorts": 8,
    "f": 0.25,
    "p": 0.25,
    "q": 0.75,
    "daily_epsilon": 1000,
}


def registry_with(metrics: Mapping[str, Mapping[str, Any]] | None = None, **top: Any) -> Registry:
    """Return a registry of these metrics, with what every metric needs filled in."""
    common = {
        "revision": 1,
        "owner": "team@example.org",
        "purpose": PURPOSE,
        "expires": date(2999, 12, 31),
    }
    tables = {name: common | dict(table) for name, table in (metrics or {"theme": KRR}).items()}
    return registry_of({"registry": top, "metrics": tables})


def device(
    registry: Registry | None = None,
    *,
    transport: Transport | None = None,
    state: State | Path | None = None,
    clock: Clock | None = None,
    **given: Any,
) -> Client:
    """Return a client in memory whose owner has agreed; the rest is as `client_for` takes it."""
    return client_for(
        registry or registry_with(),
        # A test over a socket gives an endpoint and no transport.
        transport=transport or send,
        state=state,
        clock=clock,
        **given,
    )
