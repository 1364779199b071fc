"""A device to try out: the installed client with a file, a clock and a collector of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from rumor_client import Client, NoAnswer, Request, Response
from rumor_client.perturbation.randomness import Randomness, system_randomness
from rumor_shared.registry import Registry, registry_of
from rumor_simulations.audit.device import Maker

ENDPOINT = "https://collector.invalid"
PERMANENT = "permanent"
FRESH = "fresh"
OPEN = "open"
VALUES = tuple(f"v{i}" for i in range(64))


def bench_registry() -> Registry:
    """Return what the bench asks: a permanent answer sent as it is, fresh noise, and any text."""
    common = {
        "revision": 1,
        "owner": "rumor audit",
        "purpose": "audit",
        "expires": date.max,
    }
    metrics: dict[str, dict[str, Any]] = {
        # With p = 0 and q = 1 a report is the permanent answer itself.
        PERMANENT: {
            "mechanism": "basic_rappor",
            "values": list(VALUES),
            "f": Decimal("0.5"),
            "p": 0,
            "q": 1,
            "daily_epsilon": 1000,
        },
        FRESH: {"mechanism": "oue", "epsilon": 1, "values": list(VALUES), "daily_epsilon": 3},
        OPEN: {"mechanism": "local_hashing", "epsilon": 1, "cohorts": 64, "daily_epsilon": 50},
    }
    return registry_of(
        {
            "registry": {"daily_epsilon": 2000},
            "metrics": {name: {**common, **table} for name, table in metrics.items()},
        }
    )


class Bench:
    """One device in a folder: `day` is its clock, `bodies` what it tried to send."""

    def __init__(self, folder: Path, maker: Maker = Client) -> None:
        self.path = folder / "state.sqlite"
        self.day = date(2026, 1, 1)
        self.bodies: list[bytes] = []
        self.draws = 0
        self._maker = maker
        self._no_policy = folder / "no-policy.toml"

    @contextmanager
    def client(self, *, consent: bool = True) -> Iterator[Client]:
        """Open the device's client, as an app does when it starts; close it at the end."""
        client = self._maker(
            bench_registry(),
            ENDPOINT,
            state=self.path,
            background=False,
            environ={},
            policy=self._no_policy,
            clock=lambda: datetime(self.day.year, self.day.month, self.day.day, 12, tzinfo=UTC),
            transport=self._send,
            randomness=self._randomness,
        )
        try:
            if consent:
                client.consent.grant()
            yield client
        finally:
            client.close()

    def next_day(self) -> None:
        """Turn the clock."""
        self.day += timedelta(days=1)

    def _randomness(self) -> Randomness:
        self.draws += 1
        return system_randomness()

    def _send(self, request: Request) -> Response:
        self.bodies.append(request.body)
        raise NoAnswer("the bench does not answer")


def payload_of_last(client: Client) -> bytes:
    """Return the payload of the report that was made last."""
    return client.waiting()[-1].report.payload
