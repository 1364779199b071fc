"""`python -m benchmarks.own_calls`: our short calls and floors, asked as peers are."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import msgspec

from benchmarks.measures.ingestion import DAY, REGISTRY, body
from benchmarks.measures.perturbation import bench_metric, perturbations
from benchmarks.peer_programs.answering import answer
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_shared.registry import parse_registry
from rumor_shared.wire import JSON

SCREEN = "decode and screen a batch of one report"
DECODE = "msgspec to dicts, the same bytes"


def calls() -> dict[str, Callable[[], object]]:
    """Return the calls: perturbations by their mechanism's name, RAPPOR's of the response alone."""
    registry = parse_registry(REGISTRY.encode())
    charges = Charges(registry)
    one = body(1)

    def screen() -> object:
        return screen_batch(decode_batch(one, JSON), charges, DAY, registry.max_age_days)

    return {
        **{name: perturbations(bench_metric(name))[-1] for name in ("binary", "krr", "rappor")},
        **{f"os.urandom({size})": partial(os.urandom, size) for size in (1, 16)},
        SCREEN: screen,
        DECODE: partial(msgspec.json.decode, one),
    }


if __name__ == "__main__":
    answer(calls())
