"""What one report costs in the peers' own clients; the names are ours, the peer's first.

The argument is JSON: `epsilon`, `values` (how many); `bits`, `hashes`, `cohorts`, `f` of RAPPOR.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .answering import answer


def pure_ldp(setting: dict[str, Any]) -> dict[str, Callable[[], object]]:
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
    return {f"pure-ldp {name}": _with(one.privatise, 1) for name, one in clients.items()}


def multi_freq_ldpy(setting: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Return its clients, compiled. Its RAPPOR is L-SUE, one bit a value: it hashes nothing."""
    oracles = "multi_freq_ldpy.pure_frequency_oracles"
    krr = import_module(f"{oracles}.GRR").GRR_Client
    unary = import_module(f"{oracles}.UE").UE_Client
    permanent = import_module("multi_freq_ldpy.long_freq_est.L_SUE").L_SUE_Client
    epsilon, k = setting["epsilon"], setting["values"]
    calls = {
        "binary": _with(krr, 0, 2, epsilon),
        "krr": _with(krr, 0, k, epsilon),
        "sue": _with(unary, 0, k, epsilon, False),
        "oue": _with(unary, 0, k, epsilon, True),
        "subset": _with(import_module(f"{oracles}.SS").SS_Client, 0, k, epsilon),
        "local_hashing": _with(import_module(f"{oracles}.LH").LH_Client, 0, k, epsilon),
        "basic_rappor": _with(permanent, 0, k, 2 * epsilon, epsilon),
        "rappor": _with(permanent, 0, setting["bits"], 2 * epsilon, epsilon),
    }
    return {f"multi-freq-ldpy {name}": call for name, call in calls.items()}


def _with(function: Callable[..., object], *given: object) -> Callable[[], object]:
    return lambda: function(*given)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    answer(pure_ldp(given) | multi_freq_ldpy(given))
