"""What one perturbed answer costs, beside one draw of the bytes that it must at least read."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from functools import partial
from statistics import median

from rumor_client.randomness import permanent_randomness, system_randomness
from rumor_shared.mechanism import mechanism_module
from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of
from rumor_simulations.bench.row import Row, interleaved, seconds

_ROUNDS = 30
_REPEATS = 100
_SECRET = bytes(32)
_VALUES = tuple(f"value {number}" for number in range(100))
_MECHANISMS: dict[str, dict[str, object]] = {
    "binary": {"epsilon": 1.0, "values": ["no", "value 0"]},
    "krr": {"epsilon": 1.0, "values": _VALUES},
    "sue": {"epsilon": 1.0, "values": _VALUES},
    "oue": {"epsilon": 1.0, "values": _VALUES},
    "basic_rappor": {"f": 0.25, "p": 0.25, "q": 0.75, "values": _VALUES},
    "rappor": {"f": 0.25, "p": 0.25, "q": 0.75, "bits": 128, "hashes": 2, "cohorts": 32},
}


def measure() -> list[Row]:
    """Perturb one value with each mechanism; microseconds, medians. Domains have 100 values."""
    rows = []
    for name, parameters in _MECHANISMS.items():
        metric = _metric(name, parameters)
        size = metric.mechanism.payload_bytes
        ours, floor = (
            partial(seconds, call, _REPEATS)
            for call in (_perturbation(metric), partial(os.urandom, size))
        )
        taken, least = interleaved([ours, floor], _ROUNDS)
        value, peer_value = median(taken) * 1e6, median(least) * 1e6
        rows.append(Row(f"perturb, {name}", value, "us", f"os.urandom({size})", peer_value))
    return rows


def _perturbation(metric: Metric) -> Callable[[], bytes]:
    module = mechanism_module("rumor_client", metric.mechanism.name)
    text = _VALUES[0]

    def memoised() -> bytes:
        stream = permanent_randomness(_SECRET, metric.name, metric.revision, 0, text.encode())
        permanent: bytes = module.permanent(metric, text, 0, stream)
        payload: bytes = module.instantaneous(metric, permanent, system_randomness())
        return payload

    def fresh() -> bytes:
        payload: bytes = module.perturb(metric, text, 0, system_randomness())
        return payload

    return memoised if metric.mechanism.memoised else fresh


def _metric(name: str, parameters: dict[str, object]) -> Metric:
    table = {
        "revision": 1,
        "mechanism": name,
        "owner": "bench@example.org",
        "purpose": "to measure",
        "expires": date(2999, 12, 31),
        **parameters,
    }
    return registry_of({"metrics": {"bench": table}}).metric("bench")
