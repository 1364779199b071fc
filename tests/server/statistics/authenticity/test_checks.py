"""What fakes look like beside honest crowds, and how far they can shift an estimate."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.collector import TODAY, batch, collector, days_ago, registry, report

from rumor_server.statistics.authenticity.checks import SUSPICIOUS, check_crowd, fake_shift
from rumor_server.statistics.authenticity.report_weights import WeightCounts
from rumor_server.statistics.authenticity.weight_law import weight_law
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric

HEAD = 'revision = 1\nowner = "o"\npurpose = "p"\nexpires = 2999-12-31\ndaily_epsilon = 100\n'
K = 16
VALUES = ", ".join(f'"v{number}"' for number in range(K))
OUE = f'[metrics.m]\n{HEAD}mechanism = "oue"\nepsilon = 1.0\nvalues = [{VALUES}]\n'
KRR = OUE.replace("oue", "krr")


def metric(text: str) -> Metric:
    """The one metric of a registry."""
    return registry(text).metric("m")


def oue_crowd(m: Metric, honest: int, forged: list[int], seed: int) -> tuple[Tally, WeightCounts]:
    """The tally and weights of honest devices that all hold v3, and of forged bit masks."""
    draw = random.Random(seed)
    p, q = float(m.mechanism.p), float(m.mechanism.q)  # type: ignore[attr-defined]
    masks = [
        sum((draw.random() < (p if bit == 3 else q)) << bit for bit in range(K))
        for _ in range(honest)
    ] + forged
    law = weight_law(m.mechanism)
    assert law is not None
    weights = [mask.bit_count() for mask in masks]
    counted = WeightCounts(
        len(masks),
        sum(weight < law.least for weight in weights),
        sum(weight > law.most for weight in weights),
    )
    counts = np.array([[sum(mask >> bit & 1 for mask in masks) for bit in range(K)]])
    return Tally(np.array([len(masks)]), counts), counted


def suspicious(m: Metric, tally: Tally, weights: WeightCounts) -> set[str]:
    """The names of the checks that no honest crowd fails."""
    return {one.name for one in check_crowd(m.mechanism, tally, weights, 1) if one.suspicious}


def test_passes_an_honest_crowd() -> None:
    """Honest crowds of fixed seeds pass every check; each is wrong once in a million."""
    m = metric(OUE)
    for seed in range(5):
        assert suspicious(m, *oue_crowd(m, 2000, [], seed)) == set()


@pytest.mark.parametrize(
    ("forged", "name"),
    [
        ([2**K - 1] * 20, "odd_weights"),
        ([1 << 3] * 2000, "mean_weight"),
        ([0] * 2000, "too_few_in_a_cell"),
        ([0b1111_1000] * 1500, "too_many_in_a_cell"),
    ],
)
def test_notices_a_careless_forger(forged: list[int], name: str) -> None:
    """SV-07: all ones, a favourite alone, nothing at all and a fixed answer each fail a check."""
    m = metric(OUE)
    assert name in suspicious(m, *oue_crowd(m, 2000, forged, 1))


def test_notices_an_answer_that_nobody_can_avoid() -> None:
    """Under krr every answer comes by chance; one that never does was left out on purpose."""
    m = metric(KRR)
    counts = np.full((1, K), 400)
    counts[0, 5] = 0
    tally = Tally(counts.sum(axis=1), counts)
    assert suspicious(m, tally, WeightCounts()) == {"too_few_in_a_cell"}


def test_notices_a_lopsided_cohort() -> None:
    """Cohorts are drawn evenly, so a crowd in one of them wasn't drawn."""
    text = f'[metrics.m]\n{HEAD}mechanism = "local_hashing"\nepsilon = 1.0\ncohorts = 4\n'
    m = metric(text)
    even = np.array([250, 260, 240, 250])
    for reports, expected in ((even, set()), (even + np.array([200, 0, 0, 0]), {"cohorts"})):
        counts = np.zeros((4, m.mechanism.cells), dtype=np.int64)
        assert suspicious(m, Tally(reports, counts), WeightCounts()) == expected


def test_forgives_reports_that_are_alike() -> None:
    """Memoised answers of one device repeat; ten reports of each are no reason for suspicion."""
    m = metric(
        f'[metrics.m]\n{HEAD}mechanism = "basic_rappor"\nf = 0.5\np = 0.25\nq = 0.75\n'
        f"max_values = 1\nvalues = [{VALUES}]\n"
    )
    law = weight_law(m.mechanism)
    assert law is not None
    weights = WeightCounts(10_000, heavy=20)
    tally = Tally(np.array([10_000]), np.full((1, K), 4_000))
    alone, alike = (
        {one.name: one.p_value for one in check_crowd(m.mechanism, tally, weights, repeats)}
        for repeats in (1, 10)
    )
    assert alone["odd_weights"] < SUSPICIOUS < alike["odd_weights"]


@pytest.mark.parametrize(
    "text", [OUE, KRR, KRR.replace("krr", "sue"), KRR.replace("krr", "subset")]
)
def test_bounds_the_shift_of_fakes(text: str) -> None:
    """Whatever a share of fakes reports, no frequency moves further than is told.

    The worst case is met: all fakes support one value that nobody has, or none supports the one
    that everyone has.
    """
    m = metric(text)
    n, share = 100_000, 0.05
    fakes = round(share * n)
    p, q = float(m.mechanism.p), float(m.mechanism.q)  # type: ignore[attr-defined]
    shift = fake_shift(m.mechanism, share)
    for truth, support, expected in ((0.0, 1.0, shift.up), (1.0, 0.0, -shift.down)):
        honest = (n - fakes) * (truth * p + (1 - truth) * q)
        counts = np.zeros((1, K), dtype=np.int64)
        counts[0, 0] = round(honest + fakes * support)
        estimates = estimate_metric(m, Tally(np.array([n]), counts))
        assert estimates.frequency[0] - truth == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "body",
    [
        'mechanism = "binary"\nepsilon = 1.0\n',
        'mechanism = "hadamard"\nepsilon = 1.0\nvalues = ["a", "b", "c"]\n',
        'mechanism = "pgr"\nepsilon = 1.0\nvalues = ["a", "b", "c"]\n',
        'mechanism = "cms"\nepsilon = 1.0\ncohorts = 4\ncolumns = 16\n',
        'mechanism = "hcms"\nepsilon = 1.0\ncohorts = 4\ncolumns = 16\n',
        'mechanism = "local_hashing"\nepsilon = 1.0\ncohorts = 4\n',
        'mechanism = "rappor"\nbits = 16\nf = 0.5\np = 0.75\nq = 0.25\nmax_values = 1\n',
    ],
)
def test_tells_the_shift_for_every_mechanism(body: str) -> None:
    """Each mechanism's shift is told, and is more than the share: noise works for fakes too."""
    shift = fake_shift(metric(f"[metrics.m]\n{HEAD}{body}").mechanism, 0.01)
    assert shift.up > 0.01
    assert shift.down > 0.01


def authenticity(running: Any, **query: Any) -> dict[str, Any]:
    """What the page of estimates tells of the one revision."""
    (found,) = running.estimates("m", **query)["authenticity"]
    return dict(found)


def test_shows_shapes_beside_the_estimate(tmp_path: Path) -> None:
    """Heavy reports are counted, kept over a restart, told by span, and not refused."""
    text = OUE.replace("[metrics.m]", "[registry]\ndaily_epsilon = 100\n\n[metrics.m]")
    database = tmp_path / "rumor.sqlite3"
    ones = [report("m", b"\xff\xff") for _ in range(20)]
    honest = [report("m", bytes([0b0001_1000, 0b0100_0010])) for _ in range(30)]
    with collector(database, text) as running:
        assert running.verdicts(batch(*ones)) == ["accepted"] * 20
        running.send(batch(*honest, day=days_ago(1)))
        assert running.verdicts(batch(*ones)) == ["duplicate"] * 20
    with collector(database, text) as running:
        found = authenticity(running)
        assert (found["looked_at"], found["heavy"], found["light"]) == (50, 20, 0)
        assert 0 < found["expected_odd"] < 0.02
        assert "odd_weights" in {one["name"] for one in found["checks"] if one["suspicious"]}
        yesterday = authenticity(running, to=str(days_ago(1)))
        assert (yesterday["looked_at"], yesterday["heavy"]) == (30, 0)
        doubled = authenticity(running, fakes=0.02)
        assert doubled["shift_up"] == pytest.approx(2 * found["shift_up"])
        assert authenticity(running, **{"from": str(TODAY)})["heavy"] == 20
        assert running.client.get("/v1/metrics/m/estimates?fakes=2").status_code == 400


def test_tells_nothing_of_what_is_withheld(tmp_path: Path) -> None:
    """Where the estimate is withheld, so is what would tell of the few reports."""
    text = OUE + "min_reports = 100\n"
    with collector(tmp_path / "rumor.sqlite3", text) as running:
        running.send(batch(report("m", b"\xff\xff")))
        assert running.estimates("m")["authenticity"] == []
