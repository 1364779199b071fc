"""What one perturbed answer costs, beside other libraries' clients and the bytes it must read.

Domains have 100 values; sketches 64 x 128 cells; RAPPOR is 128 bits, 2 hashes and 32 cohorts. Ours
draw from the operating system's generator, opendp's from OpenSSL's, the others' from Mersenne
Twister. Each RAPPOR report derives the permanent answer from the device's secret and draws the
instantaneous response; the second row is that response alone. pure-ldp's RAPPOR has no
instantaneous response and keeps no permanent answer; multi-freq-ldpy's is compiled, draws both anew
for each report and hashes nothing; opendp, which Python calls through ctypes, flips given bits
once, as the response does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from functools import partial
from itertools import zip_longest
from statistics import median

from benchmarks.peers import UNAVAILABLE, Peer, asked, opened
from benchmarks.row import Row, interleaved, seconds
from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import permanent_randomness, system_randomness
from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of

_ROUNDS = 30
_REPEATS = 100
_SECRET = bytes(32)
_VALUES = tuple(f"value {number}" for number in range(100))
_CLOSED: dict[str, object] = {"epsilon": 1.0, "values": _VALUES}
_SKETCH: dict[str, object] = {"epsilon": 1.0, "cohorts": 64, "columns": 128}
_MECHANISMS: dict[str, dict[str, object]] = {
    "binary": {"epsilon": 1.0, "values": ["no", "value 0"]},
    "krr": _CLOSED,
    "sue": _CLOSED,
    "oue": _CLOSED,
    "subset": _CLOSED,
    "hadamard": _CLOSED,
    "pgr": _CLOSED,
    "local_hashing": _CLOSED | {"cohorts": 1024},
    "cms": _SKETCH,
    "hcms": _SKETCH,
    "basic_rappor": {"f": 0.25, "p": 0.25, "q": 0.75, "values": _VALUES},
    "rappor": {"f": 0.25, "p": 0.25, "q": 0.75, "bits": 128, "hashes": 2, "cohorts": 32},
}
PEER_SETTING: dict[str, object] = {
    "epsilon": 1.0,
    "values": 100,
    "bits": 128,
    "hashes": 2,
    "cohorts": 32,
    "f": 0.25,
    "p": 0.25,
}
# Which mechanisms each library has.
_PEERS = {
    "pure-ldp": (
        *("binary", "krr", "sue", "oue", "hadamard", "local_hashing", "cms", "hcms"),
        "rappor",
    ),
    "multi-freq-ldpy": (
        *("binary", "krr", "sue", "oue", "subset", "local_hashing", "basic_rappor"),
        "rappor",
    ),
    "opendp": ("binary", "krr", "sue", "basic_rappor", "rappor"),
    "ldp-toolbox": ("binary", "krr", "sue", "oue", "subset", "local_hashing"),
}


def measure() -> list[Row]:
    """Perturb one value with each mechanism; microseconds, medians."""
    with opened("clients", PEER_SETTING | {"libraries": list(_PEERS)}) as peer:
        return [row for name in _MECHANISMS for row in _rows(name, peer)]


def _rows(name: str, peer: Peer | None) -> list[Row]:
    metric = bench_metric(name)
    size = metric.mechanism.payload_bytes
    libraries = [library for library, has in _PEERS.items() if name in has]
    calls = [
        *(partial(seconds, call, _REPEATS) for call in perturbations(metric)),
        partial(seconds, partial(os.urandom, size), _REPEATS),
        *(one for library in libraries for one in asked(peer, f"{library} {name}", _REPEATS)),
    ]
    # Theirs are compiled, and ours loaded, by the first call.
    interleaved(calls, 2)
    taken = [median(one) * 1e6 for one in interleaved(calls, _ROUNDS)]
    kinds = ("a report", "its instantaneous response") if metric.mechanism.memoised else ("",)
    values, (floor, *theirs) = taken[: len(kinds)], taken[len(kinds) :]
    aim = 1.0 if name == "rappor" else None
    rows = []
    for kind, value in zip(kinds, values, strict=True):
        what = f"perturb, {name}" + (f", {kind}" if kind else "")
        rows.append(Row(what, value, "us", f"os.urandom({size})", floor))
        for library, its in zip_longest(libraries, theirs):
            library_name = library if its else f"{library}: {UNAVAILABLE}"
            rows.append(Row(what, value, "us", library_name, its, aim))
    return rows


def perturbations(metric: Metric) -> list[Callable[[], bytes]]:
    """Return what makes a report and, for permanent answers, its instantaneous response alone."""
    text = _VALUES[0]

    def permanent() -> bytes:
        stream = permanent_randomness(_SECRET, metric.name, metric.revision, 0, text.encode())
        return memoised_perturber(metric).permanent(text, 0, stream)

    def first() -> bytes:
        return later(permanent())

    def later(kept: bytes) -> bytes:
        return memoised_perturber(metric).instantaneous(kept, system_randomness())

    def fresh() -> bytes:
        return perturber(metric).perturb(text, 0, system_randomness())

    return [first, partial(later, permanent())] if metric.mechanism.memoised else [fresh]


def bench_metric(name: str) -> Metric:
    """Return the bench's metric of a mechanism."""
    table = {
        "revision": 1,
        "mechanism": name,
        "owner": "bench@example.org",
        "purpose": "to measure",
        "expires": date(2999, 12, 31),
        **_MECHANISMS[name],
    }
    return registry_of({"metrics": {"bench": table}}).metric("bench")
