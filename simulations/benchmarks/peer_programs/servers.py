"""How long the peers' own servers take to estimate every value of the data that we estimate.

The argument is JSON: `epsilon`, `counts` (devices that hold each value) and `cohorts` (how many
hash functions pure-ldp's fast local hashing has). Each library perturbs the data by its own client.
Where pure-ldp keeps a tally, it estimates from that; else reports are what it keeps. The others
keep no tallies.
"""

from __future__ import annotations

import json
import math
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
# OpenDP takes milliseconds to draw one.
_DIFFERENT_OPENDP = 1000

Calls = dict[str, Callable[[], object]]


class Data:
    """The values of all devices, from 0, in random order, and what the libraries need to know."""

    def __init__(self, setting: dict[str, Any]) -> None:
        counts = np.array(setting["counts"])
        rng = np.random.default_rng(1)
        self.values = [int(v) for v in rng.permutation(np.repeat(np.arange(len(counts)), counts))]
        self.epsilon, self.k, self.cohorts = setting["epsilon"], len(counts), setting["cohorts"]

    def reports(self, client: Callable[[int], Any], different: int) -> list[Any]:
        """Return as many reports as devices, of which about `different` are drawn anew."""
        again = max(1, len(self.values) // different)
        return [client(value) for value in self.values[: len(self.values) // again]] * again


def pure_ldp(data: Data) -> Calls:
    """Return its estimates. Each is from all reports if it keeps no tally, else from its tally."""
    oracles = import_module("pure_ldp.frequency_oracles")
    epsilon, k = data.epsilon, data.k
    hashing = oracles.LHClient(epsilon, k, use_olh=True)
    fast = oracles.FastLHClient(epsilon, k, data.cohorts, use_olh=True)
    kinds = {"krr": "DE", "sue": "UE", "oue": "UE"}

    @cache
    def hashed() -> list[Any]:
        return [hashing.privatise(value + 1) for value in data.values]

    @cache
    def tally(name: str) -> Any:
        options = {"use_oue": True} if name == "oue" else {}
        client = getattr(oracles, f"{kinds[name]}Client")(epsilon, k, **options)
        server = getattr(oracles, f"{kinds[name]}Server")(epsilon, k, **options)
        again = max(1, len(data.values) // _DIFFERENT)
        for value in data.values[: len(data.values) // again]:
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

    calls: Calls = {
        "pure-ldp local_hashing": local_hashing,
        "pure-ldp fast, cold": fast_cold,
        "pure-ldp fast, warm": lambda: _all(fast_tally(), k),
        "prepare pure-ldp local_hashing": hashed,
        "prepare pure-ldp fast": fast_tally,
    }
    for name in kinds:
        kept = partial(tally, name)
        calls |= {f"prepare pure-ldp {name}": kept, f"pure-ldp {name}": partial(_all_of, kept, k)}
    return calls


def multi_freq_ldpy(data: Data) -> Calls:
    """Return its estimates, all from reports."""
    kinds = {"krr": "GRR", "sue": "UE", "oue": "UE", "subset": "SS", "local_hashing": "LH"}
    calls: Calls = {}
    for name, kind in kinds.items():
        module = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{kind}")
        client, estimate = (
            getattr(module, f"{kind}_{part}") for part in ("Client", "Aggregator_MI")
        )
        options = {"optimal": name == "oue"} if kind == "UE" else {}
        k = {} if kind == "UE" else {"k": data.k}
        calls |= _from_reports(
            f"multi-freq-ldpy {name}",
            data,
            partial(client, k=data.k, epsilon=data.epsilon, **options),
            partial(estimate, epsilon=data.epsilon, **k, **options),
        )
    return calls


def opendp(data: Data) -> Calls:
    """Return the one estimate it has: of bits that were flipped, which is symmetric unary encoding.

    The lowest bit of a byte comes first. It draws few different reports, for that takes it long.
    """
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    # Its `f` is RAPPOR's: half of them are flips.
    f = 2 / (math.exp(data.epsilon / 2) + 1)
    domain = dp.bitvector_domain(max_weight=1)
    flip = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=f)
    size = math.ceil(data.k / 8)
    return _from_reports(
        "opendp sue",
        data,
        lambda value: flip((1 << value).to_bytes(size, "little")),
        lambda reports: dp.m.debias_randomized_response_bitvec(reports, f),
        _DIFFERENT_OPENDP,
    )


def ldp_toolbox(data: Data) -> Calls:
    """Return its estimates, all from reports; it clips them at zero and makes them sum to one."""
    protocols = "ldp_toolbox.protocols.frequency"
    unary = import_module(f"{protocols}.ue").UnaryEncoding
    krr = import_module(f"{protocols}.grr").GeneralizedRandomizedResponse
    made = {
        "krr": krr(data.k, data.epsilon),
        "sue": unary(data.k, data.epsilon, optimal=False),
        "oue": unary(data.k, data.epsilon),
        "subset": import_module(f"{protocols}.ss").SubsetSelection(data.k, data.epsilon),
        "local_hashing": import_module(f"{protocols}.lh").LocalHashing(data.k, data.epsilon),
    }
    calls: Calls = {}
    for name, one in made.items():
        calls |= _from_reports(f"ldp-toolbox {name}", data, one.obfuscate, one.estimate)
    return calls


def _from_reports(
    name: str,
    data: Data,
    client: Callable[[int], Any],
    estimate: Callable[[list[Any]], object],
    different: int = _DIFFERENT,
) -> Calls:
    """Return the call of that name, and what prepares it."""
    drawn = len(data.values) if name.endswith(("krr", "local_hashing")) else different
    reports = cache(partial(data.reports, client, drawn))
    return {name: lambda: estimate(reports()), f"prepare {name}": reports}


def _all_of(kept: Callable[[], Any], k: int) -> object:
    return _all(kept(), k)


def _all(server: Any, k: int) -> object:
    # It keeps what it has estimated, and works it out again only after further reports.
    server.last_estimated = 0
    return server.estimate_all(range(1, k + 1), suppress_warnings=True)


if __name__ == "__main__":
    asked = Data(json.loads(sys.argv[1]))
    answer(pure_ldp(asked) | multi_freq_ldpy(asked) | opendp(asked) | ldp_toolbox(asked))
