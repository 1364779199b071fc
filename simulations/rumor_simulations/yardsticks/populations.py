"""The populations of the papers: Zipf, and all devices alike."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import numpy as np

from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of
from rumor_simulations.population import PopulationCounts


def values(k: int) -> tuple[str, ...]:
    """Return k distinct values."""
    return tuple(f"v{i}" for i in range(k))


def question(mechanism: str, epsilon: str, k: int, **fields: int) -> Metric:
    """Return a metric over k values."""
    table: Mapping[str, object] = {
        "mechanism": mechanism,
        "epsilon": Decimal(epsilon),
        "values": list(values(k)),
        "revision": 1,
        "owner": "yardsticks",
        "purpose": "yardsticks",
        "expires": date(9999, 12, 31),
        **fields,
    }
    return registry_of({"metrics": {"yardstick": table}}).metric("yardstick")


def zipf(k: int, n: int, exponent: float, rng: np.random.Generator) -> PopulationCounts:
    """Return n devices that draw one of k values with probability rank^-exponent, normalised."""
    weights = np.arange(1, k + 1, dtype=np.float64) ** -exponent
    return PopulationCounts(values(k), rng.multinomial(n, weights / weights.sum()))


def spike(k: int, n: int) -> PopulationCounts:
    """Return n devices that all have the first of k values."""
    counts = np.zeros(k, dtype=np.int64)
    counts[0] = n
    return PopulationCounts(values(k), counts)
