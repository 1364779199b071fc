"""A metric with Google's hashing is estimated from its tally as its files are decoded."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np

from rumor_server.rappor_import.analysis import import_rappor
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.rappor_md5 import RapporClient
from rumor_shared.registry import registry_of

CASE = Path(__file__).parents[3] / "data" / "rappor" / "r-exp-small-typical"


def test_estimates_of_a_tally_are_those_of_the_files() -> None:
    """A million reports of C++ give the same estimates through the registry as through the map."""
    table = {
        "revision": 1,
        "mechanism": "rappor",
        "hashing": "rappor_md5",
        "client": "cpp",
        "bits": 8,
        "hashes": 2,
        "cohorts": 128,
        "f": Decimal("0.45"),
        "p": Decimal("0.39"),
        "q": Decimal("0.61"),
        "owner": "o",
        "purpose": "p",
        "expires": date(2030, 1, 1),
    }
    metric = registry_of({"metrics": {"m": table}}).metric("m")
    files = [CASE / f"{part}.csv" for part in ("params", "counts", "map")]
    imported, counted = import_rappor(*files, client=RapporClient.CPP)
    tally = Tally(counted.reports, counted.counts)
    found = estimate_metric(metric, tally, list(imported.values))
    assert found.values == imported.values
    np.testing.assert_allclose(found.frequency, imported.frequency, atol=1e-12)
