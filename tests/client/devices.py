"""Devices for tests: a registry in a dictionary, a clock that is set, a client in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from rumor_client import Client, MemoryState, State, Transport
from rumor_client.outbox import Bounds
from rumor_shared.registry import Registry, registry_of

# Other interpreters that a test starts find the tests' modules from here.
ROOT = Path(__file__).parents[2]
PURPOSE = "product improvement"
ENDPOINT = "http://collector.invalid"
NO_POLICY = ""
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

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


@dataclass
class SetClock:
    """A clock that stands until it is moved."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        """Return the moment that was set."""
        return self.now

    def move(self, **delta: float) -> None:
        """Move by a timedelta's arguments."""
        self.now += timedelta(**delta)


def device(
    registry: Registry | None = None,
    *,
    transport: Transport | None = None,
    state: State | Path | None = None,
    clock: SetClock | None = None,
    granted: bool = True,
    endpoint: str | None = ENDPOINT,
    background: bool = False,
    bounds: Bounds | None = None,
    daily_cap: Any = None,
    lifetime_cap: Any = None,
    key: str | None = None,
    upload_interval: float = 300.0,
) -> Client:
    """Return a client whose owner has agreed, cut off from this machine's environment."""
    client = Client(
        registry or registry_with(),
        endpoint,
        state=state or MemoryState(),
        transport=transport,
        clock=clock or SetClock(),
        background=background,
        bounds=bounds,
        daily_cap=daily_cap,
        lifetime_cap=lifetime_cap,
        key=key,
        upload_interval=upload_interval,
        environ={},
        policy=NO_POLICY,
    )
    if granted:
        client.consent.grant()
    return client
