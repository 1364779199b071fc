"""What one report costs in the peers' own clients; the names are ours, the peer's first.

The argument is JSON: `libraries` (which to load), `epsilon`, `values` (how many); `bits`, `hashes`,
`cohorts`, `f` and `p` of RAPPOR.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .answering import answer

Calls = dict[str, Callable[[], object]]


def pure_ldp(setting: dict[str, Any]) -> Calls:
    """Return its clients. It counts values from 1. Its RAPPOR has no instantaneous response."""
    oracles = import_module("pure_ldp.frequency_oracles")
    hash_functions = import_module("pure_ldp.core").generate_hash_funcs
    epsilon, k = setting["epsilon"], setting["values"]
    hashes = [hash_functions(setting["hashes"], setting["bits"]) for _ in range(setting["cohorts"])]
    sketch = hash_functions(64, 128)
    clients = {
        "binary": oracles.DEClient(epsilon, 2),
        "krr": oracles.DEClient(epsilon, k),
        "sue": oracles.UEClient(epsilon, k),
        "oue": oracles.UEClient(epsilon, k, use_oue=True),
        "local_hashing": oracles.LHClient(epsilon, k, use_olh=True),
        "hadamard": oracles.HadamardResponseClient(epsilon, k, None),
        "cms": oracles.CMSClient(epsilon, sketch, 128),
        "hcms": oracles.CMSClient(epsilon, sketch, 128, is_hadamard=True),
        "rappor": oracles.RAPPORClient(
            setting["f"], setting["bits"], hashes, num_of_cohorts=setting["cohorts"]
        ),
    }
    return {name: _with(one.privatise, 1) for name, one in clients.items()}


def multi_freq_ldpy(setting: dict[str, Any]) -> Calls:
    """Return its clients, compiled. Its RAPPOR is L-SUE, one bit a value: it hashes nothing."""
    oracles = "multi_freq_ldpy.pure_frequency_oracles"
    krr = import_module(f"{oracles}.GRR").GRR_Client
    unary = import_module(f"{oracles}.UE").UE_Client
    permanent = import_module("multi_freq_ldpy.long_freq_est.L_SUE").L_SUE_Client
    epsilon, k = setting["epsilon"], setting["values"]
    return {
        "binary": _with(krr, 0, 2, epsilon),
        "krr": _with(krr, 0, k, epsilon),
        "sue": _with(unary, 0, k, epsilon, False),
        "oue": _with(unary, 0, k, epsilon, True),
        "subset": _with(import_module(f"{oracles}.SS").SS_Client, 0, k, epsilon),
        "local_hashing": _with(import_module(f"{oracles}.LH").LH_Client, 0, k, epsilon),
        "basic_rappor": _with(permanent, 0, k, 2 * epsilon, epsilon),
        "rappor": _with(permanent, 0, setting["bits"], 2 * epsilon, epsilon),
    }


def opendp(setting: dict[str, Any]) -> Calls:
    """Return its clients. They flip the bits of whole bytes, ones and zeros alike: symmetric unary
    encoding, and the instantaneous half of a RAPPOR of p = 1 - q. They hash and keep nothing.
    """
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    epsilon, k = setting["epsilon"], setting["values"]

    def flipping(count: int, ones: int, probability: float) -> Callable[[], object]:
        domain = dp.bitvector_domain(max_weight=ones)
        # Its `f` is RAPPOR's: half of them are flips.
        client = dp.m.make_randomized_response_bitvec(
            domain, dp.discrete_distance(), f=2 * probability
        )
        return _with(client, bytes([1, *bytes(math.ceil(count / 8) - 1)]))

    of_two, of_all = (math.exp(epsilon) / (math.exp(epsilon) + size - 1) for size in (2, k))
    return {
        "binary": _with(dp.m.make_randomized_response_bool(of_two), True),
        "krr": _with(dp.m.make_randomized_response(list(range(k)), of_all), 0),
        "sue": flipping(k, 1, 1 / (math.exp(epsilon / 2) + 1)),
        "basic_rappor": flipping(k, k, setting["p"]),
        "rappor": flipping(setting["bits"], setting["bits"], setting["p"]),
    }


def ldp_toolbox(setting: dict[str, Any]) -> Calls:
    """Return its clients, compiled but for local hashing."""
    protocols = "ldp_toolbox.protocols.frequency"
    krr = import_module(f"{protocols}.grr").GeneralizedRandomizedResponse
    unary = import_module(f"{protocols}.ue").UnaryEncoding
    epsilon, k = setting["epsilon"], setting["values"]
    clients = {
        "binary": krr(2, epsilon),
        "krr": krr(k, epsilon),
        "sue": unary(k, epsilon, optimal=False),
        "oue": unary(k, epsilon),
        "subset": import_module(f"{protocols}.ss").SubsetSelection(k, epsilon),
        "local_hashing": import_module(f"{protocols}.lh").LocalHashing(k, epsilon),
    }
    return {name: _with(one.obfuscate, 0) for name, one in clients.items()}


_LIBRARIES = {
    "pure-ldp": pure_ldp,
    "multi-freq-ldpy": multi_freq_ldpy,
    "opendp": opendp,
    "ldp-toolbox": ldp_toolbox,
}


def _with(function: Callable[..., object], *given: object) -> Callable[[], object]:
    return lambda: function(*given)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    answer(
        {
            f"{library} {name}": call
            for library in asked["libraries"]
            for name, call in _LIBRARIES[library](asked).items()
        }
    )
