"""`python -m benchmarks.fresh_decode N`: one RAPPOR decode and the memory it took."""

from __future__ import annotations

import json
import sys
from datetime import date

import numpy as np

from benchmarks.memory import peak_mebibytes
from benchmarks.row import seconds
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_shared.registry import registry_of
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import PopulationCounts

BITS = 128
COHORTS = 64
DEVICES = 1_000_000
# As many of the candidates are held by devices, with shares as 1 / rank.
PRESENT = 1000


def main() -> None:
    """Decode N candidates; print seconds and the peak of resident memory in MiB, as JSON."""
    candidates = int(sys.argv[1])
    table = {
        "revision": 1,
        "mechanism": "rappor",
        "f": 0.25,
        "p": 0.25,
        "q": 0.75,
        "bits": BITS,
        "hashes": 2,
        "cohorts": COHORTS,
        "owner": "bench@example.org",
        "purpose": "to measure",
        "expires": date(2999, 12, 31),
    }
    metric = registry_of({"metrics": {"bench": table}}).metric("bench")
    texts = tuple(f"candidate {number}" for number in range(candidates))
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, PRESENT + 1)
    held = rng.multinomial(DEVICES, weights / weights.sum())
    tally = population_tally(metric, PopulationCounts(texts[:PRESENT], held), rng)
    took = seconds(lambda: estimate_metric(metric, tally, texts))
    sys.stdout.write(json.dumps([took, peak_mebibytes()]) + "\n")


if __name__ == "__main__":
    main()
