"""Estimation of all 1024 values from the answers of 10^5 devices, Zipf 1.1, epsilon 1.

Ours are from a tally. pure-ldp's are from its tally where it keeps one (`krr`, `sue`, `oue` and its
fast local hashing, here with as many hash functions as we have cohorts), and the others' from all
reports, which is what they keep. Cold: the values' hashes are worked out first. Ours also gives
each estimate a standard error, intervals and a test; theirs don't. opendp estimates from flipped
bits alone. What takes peers many seconds is measured once: `sue` of opendp, `subset` of
multi-freq-ldpy, and local hashing from reports, which takes minutes, between ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from statistics import median

import numpy as np

from benchmarks.peers import UNAVAILABLE, Peer, asked, opened
from benchmarks.row import Row, interleaved, seconds
from rumor_server.statistics.cohorts.hash_table import hash_table
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import PopulationCounts
from rumor_simulations.yardsticks.populations import question, zipf

_DEVICES = 100_000
_VALUES = 1024
# What `settle` takes for 1024 values: the most that a tally may hold.
_COHORTS = 4096
_ROUNDS = 7
_SLOW_ROUNDS = 3
_LOCAL_HASHING_AIM = 0.01
_TALLIES = ("krr", "sue", "oue", "subset", "hadamard", "pgr")
_THREE = ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox")
_PEERS = {
    "krr": _THREE,
    "sue": (*_THREE, "opendp"),
    "oue": _THREE,
    "subset": ("ldp-toolbox", "multi-freq-ldpy"),
}
# Of these, what takes many seconds; they come last.
_SLOW = ("opendp sue", "multi-freq-ldpy subset")


def measure() -> list[Row]:
    """Estimate by turns; milliseconds, medians."""
    rng = np.random.default_rng(1)
    population = zipf(_VALUES, _DEVICES, 1.1, rng)
    setting = {"epsilon": 1.0, "counts": population.counts.tolist(), "cohorts": _COHORTS}
    with opened("servers", setting) as peer:
        rows = [row for name in _TALLIES for row in _of_tally(name, population, peer, rng)]
        metric = question("local_hashing", "1", _VALUES, cohorts=_COHORTS)
        rows += _local_hashing(metric, population_tally(metric, population, rng), peer)
    return rows


def _of_tally(
    name: str, population: PopulationCounts, peer: Peer | None, rng: np.random.Generator
) -> list[Row]:
    metric = question(name, "1", _VALUES)
    tally = population_tally(metric, population, rng)
    libraries = _PEERS.get(name, ())
    what = f"estimate {_VALUES} values, {name}"
    of_peers = [f"{library} {name}" for library in libraries]
    ours = partial(seconds, partial(estimate_metric, metric, tally))
    quick, slow = (
        [one for call in of_peers if (call in _SLOW) is late for one in asked(peer, call)]
        for late in (False, True)
    )
    _prepare(peer, of_peers)
    interleaved([ours, *quick], 1)
    taken = [*interleaved([ours, *quick], _ROUNDS), *interleaved(slow, 1)]
    value, *theirs = (median(one) * 1e3 for one in taken)
    if not libraries:
        return [Row(what, value, "ms")]
    return _compared(what, value, libraries, theirs)


def _local_hashing(metric: Metric, tally: Tally, peer: Peer | None) -> list[Row]:
    warm = partial(seconds, partial(estimate_metric, metric, tally))

    def cold() -> float:
        hash_table.cache_clear()
        return warm()

    ours: list[Callable[[], float]] = [cold, warm]
    fast = ["pure-ldp fast, cold", "pure-ldp fast, warm"]
    slow = [f"{library} local_hashing" for library in _THREE]
    _prepare(peer, ["pure-ldp fast", *slow])
    interleaved(ours, 1)
    by_turns: list[Callable[[], float]] = [
        *ours,
        *chain.from_iterable(asked(peer, call) for call in fast),
    ]
    taken = interleaved(by_turns, _SLOW_ROUNDS)
    between: list[Callable[[], float]] = [*ours]
    for call in slow if peer else ():
        between += [*asked(peer, call), *ours]
    once = interleaved(between, 1)
    values = [
        median([*taken[side], *chain.from_iterable(once[side :: len(ours) + 1])])
        for side in range(len(ours))
    ]
    long = [results[0] * 1e3 for results in once[len(ours) :: len(ours) + 1]]
    short = [median(results) * 1e3 for results in taken[len(ours) :]]
    rows = []
    for side, name in enumerate(("cold", "warm")):
        what = f"estimate {_VALUES} values, local_hashing, {_COHORTS} cohorts, {name}"
        value = values[side] * 1e3
        libraries = tuple(f"{library}, from reports" for library in _THREE)
        rows += _compared(what, value, libraries, long, _LOCAL_HASHING_AIM)
        rows += _compared(what, value, (fast[side],), short[side : side + 1])
    return rows


def _prepare(peer: Peer | None, calls: list[str]) -> None:
    if peer is not None:
        for call in calls:
            peer.seconds(f"prepare {call}")


def _compared(
    what: str,
    value: float,
    libraries: tuple[str, ...],
    theirs: list[float],
    aim: float | None = None,
) -> list[Row]:
    if not theirs:
        return [Row(what, value, "ms", f"{name}: {UNAVAILABLE}") for name in libraries]
    return [
        Row(what, value, "ms", name, peer, aim)
        for name, peer in zip(libraries, theirs, strict=True)
    ]
