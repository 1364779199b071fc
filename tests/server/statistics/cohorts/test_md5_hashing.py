"""Reports of Google's clients are counted as Google counts them, and candidates hashed alike."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from rumor_server.statistics.cohorts.md5_hashing import md5_bits, md5_positions
from rumor_server.statistics.mechanisms.rappor import RapporEstimator
from rumor_server.statistics.tally import Tally
from rumor_shared.bits import encode_bits
from rumor_shared.errors import MalformedPayload, RegistryError
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.rappor_md5 import RapporClient, bloom_bits
from rumor_shared.registry import registry_of

DATA = Path(__file__).parents[3] / "data" / "rappor"
VECTORS = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))


def google_metric(**fields: Any) -> Metric:
    """Return a metric with Google's hashing."""
    base: dict[str, Any] = {
        "revision": 1,
        "mechanism": "rappor",
        "hashing": "rappor_md5",
        "owner": "o",
        "purpose": "p",
        "expires": date(2030, 1, 1),
        **fields,
    }
    exact = {k: Decimal(repr(v)) if isinstance(v, float) else v for k, v in base.items()}
    return registry_of({"metrics": {"m": exact}}).metric("m")


def payload_of(report: str, bits: int) -> bytes:
    """Return the payload of a report written as Google writes it, the highest bit first."""
    return encode_bits(int(report, 2), bits)


def tally_of(metric: Metric, reports: Sequence[tuple[int, str]]) -> Tally:
    """Return the tally of (cohort, report) pairs, each checked as on arrival."""
    mechanism = cast(Rappor, metric.mechanism)
    tally = Tally.empty(mechanism)
    for cohort in range(mechanism.cohorts):
        payloads = [payload_of(r, mechanism.bits) for c, r in reports if c == cohort]
        for payload in payloads:
            mechanism.check_payload(payload)
        tally.reports[cohort] = len(payloads)
        tally.counts[cohort] = RapporEstimator(metric).tally(payloads)
    return tally


@pytest.mark.parametrize("client", ["cpp", "python"])
def test_a_thousand_reports_give_their_counts(client: str) -> None:
    """The tally of 1000 reports of a simulation is its counts.csv, to the last bit."""
    folder = DATA / f"reports-{client}-1000"
    (params,) = csv.DictReader(io.StringIO((folder / "params.csv").read_text(encoding="utf-8")))
    k, h, m = (int(params[key]) for key in "khm")
    fields = {key: float(params[key]) for key in "fpq"}
    metric = google_metric(client=client, bits=k, hashes=h, cohorts=m, **fields)
    reports = csv.DictReader(io.StringIO((folder / "reports.csv").read_text(encoding="utf-8")))
    tally = tally_of(metric, [(int(row["cohort"]), row["irr"]) for row in reports])
    theirs = np.loadtxt(folder / "counts.csv", delimiter=",", dtype=np.int64)
    assert tally.n == 1000
    np.testing.assert_array_equal(tally.reports, theirs[:, 0])
    np.testing.assert_array_equal(tally.counts, theirs[:, 1:])


def test_sums_of_bits() -> None:
    """The sums of sum_bits_test.py: the first character of a report is its highest bit."""
    theirs = VECTORS["their_tests"]["bin/sum_bits_test.py::testSum"]
    metric = google_metric(bits=theirs["k"], cohorts=theirs["m"], f=0.5, p=0.5, q=0.75)
    rows = csv.DictReader(io.StringIO(theirs["csv"]))
    tally = tally_of(metric, [(int(row["cohort"]), row["rappor"]) for row in rows])
    counts = np.column_stack([tally.reports, tally.counts])
    assert counts.tolist() == theirs["counts"]


def test_bit_counts_of_cobalt() -> None:
    """Cobalt's counts of 4 bits in 2 cohorts. The two reports with bits beyond the fourth, which it
    counts without them, are refused on arrival here.
    """
    theirs = VECTORS["cobalt_bit_counts"]
    metric = google_metric(bits=theirs["k"], cohorts=theirs["m"], f=0.5, p=0.5, q=0.75)
    mechanism = cast(Rappor, metric.mechanism)
    narrow, refused = [], 0
    for cohort, report, times in theirs["observations"]:
        if int(report, 2) < 1 << theirs["k"]:
            narrow += [(cohort, report)] * times
            continue
        with pytest.raises(MalformedPayload, match="padding bit"):
            mechanism.check_payload(int(report, 2).to_bytes(1, "little"))
        refused += 1
    assert refused == 2
    assert tally_of(metric, narrow).counts.tolist() == theirs["expected"]
    with pytest.raises(MalformedPayload, match="has 2 bytes"):
        mechanism.check_payload(b"\x00\x00")
    with pytest.raises(MalformedPayload, match="0 to 1"):
        mechanism.check_cohort(theirs["m"])
    with pytest.raises(RegistryError, match="not a probability"):
        google_metric(bits=4, cohorts=2, f=0.5, p=1.5, q=0.75)


def test_bit_ratios_of_cobalt() -> None:
    """Cobalt's shares of reports that set each bit, in three of four cohorts."""
    theirs = VECTORS["cobalt_bit_ratios"]
    metric = google_metric(bits=theirs["k"], cohorts=4, f=0.5, p=0.5, q=0.75)
    tally = tally_of(metric, [(cohort, report) for cohort, report in theirs["observations"]])
    ratios = tally.counts[: theirs["m"], ::-1] / tally.reports[: theirs["m"], None]
    np.testing.assert_allclose(ratios, theirs["expected_msb_first"])


@pytest.mark.parametrize(
    ("client", "bits", "hashes"),
    [
        ("python", 8, 2),
        ("python", 256, 16),
        ("cpp", 128, 2),
        ("cpp", 1024, 8),
        ("exact", 70_000, 3),
        ("java", 12, 2),
        ("java", 1000, 8),
    ],
)
def test_candidates_are_hashed_as_devices_hash(client: str, bits: int, hashes: int) -> None:
    """The array of candidates holds the bits that a device sets, in every cohort."""
    metric = google_metric(
        client=client, bits=bits, hashes=hashes, cohorts=8, f=0.95, p=0.45, q=0.5
    )
    mechanism = cast(Rappor, metric.mechanism)
    texts = ["", "v1", "été", "x" * 300]
    expected = [
        [
            list(bloom_bits(text.encode(), cohort, hashes, bits, RapporClient(client)))
            for cohort in range(8)
        ]
        for text in texts
    ]
    assert md5_bits([text.encode() for text in texts], mechanism).tolist() == expected
    assert md5_positions(texts, mechanism)(1, 3).tolist() == expected[1:3]


def test_bits_of_candidates_are_narrow() -> None:
    """A filter of up to 256 bits costs a byte a hash, so that a million candidates fit."""
    metric = google_metric(bits=256, hashes=2, cohorts=64, f=0.5, p=0.5, q=0.75)
    assert md5_bits([b"v"] * 10, cast(Rappor, metric.mechanism)).nbytes == 10 * 64 * 2
