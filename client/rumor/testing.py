"""What the tests of an app use: the names of `rumor_client.testing`, and its docstring there."""

from __future__ import annotations

from rumor_client.testing import (
    Answer,
    Call,
    Calls,
    FakeClock,
    FakeCollector,
    RecordingTransport,
    answer,
    client_for,
    contents,
    lost,
    page,
    refusal,
    seeded,
    times,
    watch,
)

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
