"""How long the peers' own servers take to estimate every value of the data that we estimate.

The argument is JSON: `epsilon`, `counts` (devices that hold each value) and `cohorts` (how many
hash functions pure-ldp's fast local hashing has). Each library perturbs the data by its own client.
Where pure-ldp keeps a tally, it estimates from that; else reports are what it keeps. The other
keeps no tallies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from .answering import answer

# A unary report of 1024 values is 8 KiB in these libraries, and 10^5 would fill 800 MB: as many
# different ones are drawn, and each is counted again.
_DIFFERENT = 10_000


class Data:
    """The values of all devices, from 0, in random order, and what the libraries need to know."""

    def __init__(self, setting: dict[str, Any]) -> None:
        counts = np.array(setting["counts"])
        rng = np.random.default_rng(1)
        self.values = [int(v) for v in rng.permutation(np.repeat(np.arange(len(counts)), counts))]
        self.epsilon, self.k, self.cohorts = setting["epsilon"], len(counts), setting["cohorts"]
        self.again = max(1, len(self.values) // _DIFFERENT)


def pure_ldp(data: Data) -> dict[str, Callable[[], object]]:
    """Return its estimates. Each is from all reports if it keeps no tally, else from its tally."""
    oracles = import_module("pure_ldp.frequency_oracles")
    epsilon, k = data.epsilon, data.k
    hashing = oracles.LHClient(epsilon, k, use_olh=True)
    fast = oracles.FastLHClient(epsilon, k, data.cohorts, use_olh=True)

    @cache
    def hashed() -> list[Any]:
        return [hashing.privatise(value + 1) for value in data.values]

    @cache
    def tally(name: str) -> Any:
        kinds = {"krr": "DE", "oue": "UE"}
        options = {"use_oue": True} if name == "oue" else {}
        client = getattr(oracles, f"{kinds[name]}Client")(epsilon, k, **options)
        server = getattr(oracles, f"{kinds[name]}Server")(epsilon, k, **options)
        for value in data.values[: len(data.values) // data.again]:
            server.aggregate(client.privatise(value + 1))
        return server

    @cache
    def fast_tally() -> Any:
        server = oracles.FastLHServer(epsilon, k, data.cohorts, use_olh=True)
        server.aggregate_all([fast.privatise(value + 1) for value in data.values])
        return server

    def local_hashing() -> object:
        server = oracles.LHServer(epsilon, k, use_olh=True)
        server.aggregate_all(hashed())
        return _all(server, k)

    def fast_cold() -> object:
        kept = fast_tally()
        server = oracles.FastLHServer(epsilon, k, data.cohorts, use_olh=True)
        server.hash_counts, server.n = kept.hash_counts, kept.n
        return _all(server, k)

    return {
        "pure-ldp krr": lambda: _all(tally("krr"), k),
        "pure-ldp oue": lambda: _all(tally("oue"), k),
        "pure-ldp local_hashing": local_hashing,
        "pure-ldp fast, cold": fast_cold,
        "pure-ldp fast, warm": lambda: _all(fast_tally(), k),
        "prepare pure-ldp local_hashing": hashed,
        "prepare pure-ldp fast": fast_tally,
        "prepare pure-ldp krr": partial(tally, "krr"),
        "prepare pure-ldp oue": partial(tally, "oue"),
    }


def multi_freq_ldpy(data: Data) -> dict[str, Callable[[], object]]:
    """Return its estimates, all from reports."""
    kinds = {"krr": "GRR", "oue": "UE", "subset": "SS", "local_hashing": "LH"}
    calls: dict[str, Callable[[], object]] = {}
    for name, kind in kinds.items():
        module = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{kind}")
        client = getattr(module, f"{kind}_Client")
        reports = cache(partial(_reports, client, data, name))
        estimate = getattr(module, f"{kind}_Aggregator_MI")
        given = (data.epsilon,) if name == "oue" else (data.k, data.epsilon)
        calls[f"multi-freq-ldpy {name}"] = partial(_estimated, estimate, reports, given)
        calls[f"prepare multi-freq-ldpy {name}"] = reports
    return calls


def _reports(client: Callable[..., Any], data: Data, name: str) -> list[Any]:
    again = 1 if name in ("krr", "local_hashing") else data.again
    values = data.values[: len(data.values) // again]
    return [client(value, data.k, data.epsilon) for value in values] * again


def _estimated(
    estimate: Callable[..., object], reports: Callable[[], list[Any]], given: tuple[Any, ...]
) -> object:
    return estimate(reports(), *given)


def _all(server: Any, k: int) -> object:
    # It keeps what it has estimated, and works it out again only after further reports.
    server.last_estimated = 0
    return server.estimate_all(range(1, k + 1), suppress_warnings=True)


if __name__ == "__main__":
    asked = Data(json.loads(sys.argv[1]))
    answer(pure_ldp(asked) | multi_freq_ldpy(asked))
