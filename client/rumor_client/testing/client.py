"""A factory of clients for tests: in memory, with consent, cut off from this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal

from rumor_client.client import DEFAULT_INTERVAL, Client
from rumor_client.perturbation.randomness import Randomness, system_randomness
from rumor_client.process.clock import Clock
from rumor_client.recording.outbox import Bounds
from rumor_client.state.memory import MemoryState
from rumor_client.state.protocol import State
from rumor_client.testing.clock import FakeClock
from rumor_client.testing.script import lost
from rumor_client.upload.backoff import Jitter
from rumor_client.upload.transport import Transport
from rumor_shared.registry import Registry

# RFC 2606: a name that never resolves. A test can't reach a real collector by accident.
ENDPOINT = "http://collector.invalid"
# No file: a policy of this machine must not decide a test.
_NO_POLICY = ""


def client_for(
    registry: Registry | str | os.PathLike[str] | bytes,
    *,
    granted: bool = True,
    endpoint: str | None = ENDPOINT,
    transport: Transport = lost,
    state: State | str | os.PathLike[str] | None = None,
    clock: Clock | None = None,
    background: bool = False,
    bounds: Bounds | None = None,
    daily_cap: Decimal | str | int | float | None = None,
    lifetime_cap: Decimal | str | int | float | None = None,
    key: str | None = None,
    upload_interval: float = DEFAULT_INTERVAL,
    randomness: Callable[[], Randomness] = system_randomness,
    jitter: Jitter | None = None,
) -> Client:
    """Return a client that uploads only by `flush`, and reaches nothing but `transport`.

    Without a transport every request is lost; without a state it is kept in memory; without a clock
    it is a day of 2026. The arguments are those of `Client`.
    """
    client = Client(
        registry,
        endpoint,
        state=state or MemoryState(),
        transport=transport,
        clock=clock or FakeClock(),
        background=background,
        bounds=bounds,
        daily_cap=daily_cap,
        lifetime_cap=lifetime_cap,
        key=key,
        upload_interval=upload_interval,
        environ={},
        policy=_NO_POLICY,
        randomness=randomness,
        jitter=jitter,
    )
    if granted:
        client.consent.grant()
    return client
