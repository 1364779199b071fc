"""What `rumor audit` attacks where no registry is given: every mechanism, at small domains."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from rumor_shared.errors import RegistryError
from rumor_shared.mechanisms.table import installed_names
from rumor_shared.metric import Metric, parse_metric

EPSILONS = ("1", "2", "4")

# Domains of at most 32, chosen so that the worst event is common: the less rare, the tighter its
# bounds. What is not listed is tried with `epsilon` and four values.
_FIELDS: dict[str, dict[str, Any]] = {
    "binary": {"values": 2},
    "subset": {"values": 16},
    "hadamard": {"values": 7},
    "pgr": {"values": 13},
    "local_hashing": {"cohorts": 64},
    "cms": {"columns": 16, "cohorts": 16},
    "hcms": {"columns": 16, "cohorts": 16},
    "rappor": {"bits": 16, "hashes": 1, "cohorts": 8},
}
_MEMOISED = ("rappor", "basic_rappor")


def standard_metrics(epsilons: tuple[str, ...] = EPSILONS) -> Iterator[Metric | str]:
    """Yield a small metric of every mechanism at every epsilon; a text names one it can't make."""
    for mechanism in sorted(installed_names()):
        for epsilon in epsilons:
            try:
                yield standard_metric(mechanism, epsilon)
            except RegistryError as error:
                yield f"{mechanism} at epsilon {epsilon}: {error.problems[0]}"


def standard_metric(mechanism: str, epsilon: str, **fields: Any) -> Metric:
    """Return a small metric of a mechanism; `fields` change its table. Raises RegistryError."""
    exact = Decimal(epsilon)
    table: dict[str, Any] = {
        "revision": 1,
        "mechanism": mechanism,
        "owner": "rumor audit",
        "purpose": "audit",
        "expires": date.max,
        **_FIELDS.get(mechanism, {"values": 4}),
    }
    if isinstance(count := table.get("values"), int):
        table["values"] = [f"v{i}" for i in range(count)]
    if mechanism in _MEMOISED:
        table |= {"epsilon_first_report": exact, "epsilon_infinity": 2 * exact, "max_values": 1}
    else:
        table["epsilon"] = exact
    return parse_metric(f"{mechanism}_{epsilon}".replace(".", "_"), table | fields)
