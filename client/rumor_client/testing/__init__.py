"""Test an app that embeds Rumor, without a network, a file, a clock or an owner.

    from rumor.testing import FakeCollector, client_for, watch

    def test_the_theme_is_reported() -> None:
        collector = FakeCollector()
        with client_for("metrics.toml", transport=collector) as client, watch(client) as calls:
            choose_theme(client, "dark")
            client.flush()
        calls.assert_recorded("theme", "dark")
        assert len(collector.counted) == 1

What is here
    client_for         a client in memory whose owner has agreed, cut off from this machine
    FakeClock          stands until it is moved
    FakeCollector      takes, refuses and loses what a script says; counts each id once; retracts
    RecordingTransport keeps what passes to another transport
    watch              keeps what the app asked to record, before it is perturbed
    seeded             repeatable randomness
    lost, refusal, page, answer, times    steps of a collector's script

Order of reading: `client`, `clock`, `collector` and its `script`, `transport`, `calls`,
`randomness`.

What it can't show
    - An answer is perturbed: what leaves the device says nothing of the value. Test the values with
      `watch`, the traffic with `FakeCollector`, and never one by the other.
    - `FakeCollector` checks no payload, no budget, no day and no registry; it is not a collector.
      `rumor serve` is, and `rumor conformance serve` judges a client against the status table.
    - A state in memory is neither durable nor shared between processes. Hand over a path to test
      restarts, forks and full disks.
    - `seeded` gives no privacy, and the same seed gives other answers in another release.
    - Time that a client waits (back-off, deadlines) is real: `FakeClock` only decides which day it
      is.
"""

from __future__ import annotations

from rumor_client.testing.calls import Call, Calls, watch
from rumor_client.testing.client import client_for
from rumor_client.testing.clock import FakeClock
from rumor_client.testing.collector import FakeCollector
from rumor_client.testing.randomness import seeded
from rumor_client.testing.script import Answer, answer, contents, lost, page, refusal, times
from rumor_client.testing.transport import RecordingTransport

__all__ = [
    "Answer",
    "Call",
    "Calls",
    "FakeClock",
    "FakeCollector",
    "RecordingTransport",
    "answer",
    "client_for",
    "contents",
    "lost",
    "page",
    "refusal",
    "seeded",
    "times",
    "watch",
]
