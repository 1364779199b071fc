"""One point of a sweep: which mechanism, at which epsilon, over how many devices and values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from rumor_shared.metric import Metric, parse_metric

# Sketches and hashes get so many cohorts and columns: enough that collisions cost little, few
# enough that a decode takes a fraction of a second (it grows with cohorts and columns cubed).
HASH_COHORTS = 256
SKETCH_COHORTS = 64
SKETCH_COLUMNS = 128
RAPPOR_COHORTS = 32
RAPPOR_BITS = 128
MEMOISED = ("rappor", "basic_rappor")
# What sweeps compare, in the order of their legends; the first is everyone's yardstick.
MECHANISMS = (
    "subset",
    "pgr",
    "local_hashing",
    "oue",
    "krr",
    "sue",
    "hadamard",
    "basic_rappor",
    "rappor",
    "cms",
    "hcms",
)
# What is swept, in the order of the figures: the names of `experiments.EXPERIMENTS`, without what
# they take to load.
EXPERIMENT_NAMES = (
    "epsilon",
    "devices",
    "values",
    "detection",
    "coverage",
    "drift",
    "opt_in",
    "frontier",
    "mechanisms",
)


@dataclass(frozen=True)
class Setting:
    """One run of one experiment. `extra` is what only that experiment varies."""

    experiment: str
    mechanism: str
    epsilon: str
    n: int
    k: int
    population: str
    run: int
    real: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that say which run a row belongs to."""
        return {
            "experiment": self.experiment,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "n": self.n,
            "k": self.k,
            "population": self.population,
            "run": self.run,
            "real": self.real,
            **self.extra,
        }


def sweep_metric(mechanism: str, epsilon: str, values: tuple[str, ...], **fields: Any) -> Metric:
    """Return a metric whose first report costs `epsilon`.

    Permanent answers cost twice that for ever. Sketches and RAPPOR take `values` as candidates.
    Raises RegistryError where the mechanism can't do it.
    """
    exact = Decimal(epsilon)
    table: dict[str, Any] = {
        "revision": 1,
        "mechanism": mechanism,
        "owner": "rumor simulate",
        "purpose": "simulation",
        "expires": date.max,
    }
    if mechanism in MEMOISED:
        table |= {"epsilon_first_report": exact, "epsilon_infinity": 2 * exact, "max_values": 1}
    else:
        table["epsilon"] = exact
    if mechanism == "rappor":
        table |= {"bits": RAPPOR_BITS, "cohorts": RAPPOR_COHORTS}
    elif mechanism in ("cms", "hcms"):
        table |= {"cohorts": SKETCH_COHORTS, "columns": SKETCH_COLUMNS}
    else:
        table["values"] = list(values)
        if mechanism == "local_hashing":
            table["cohorts"] = HASH_COHORTS
    return parse_metric("answer", table | fields)
