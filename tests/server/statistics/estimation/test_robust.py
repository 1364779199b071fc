"""The bounds of the honest truth follow from what one report can add."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.collector import Collector, batch, collector, registry, report

from rumor_server.statistics.estimation.robust import Influence, influence, robust_interval
from rumor_shared.mechanism import Mechanism

HEAD = 'revision = 1\nowner = "o"\npurpose = "p"\nexpires = 2999-12-31\ndaily_epsilon = 100\n'
KRR = 'mechanism = "krr"\nepsilon = 1.0\nvalues = ["a", "b", "c"]\n'


def mechanism(body: str) -> Mechanism:
    """The mechanism of a metric's table."""
    return registry(f"[metrics.m]\n{HEAD}{body}").metric("m").mechanism


@pytest.mark.parametrize(
    "body", [KRR, KRR.replace("krr", "oue"), 'mechanism = "binary"\nepsilon = 1.0\n']
)
def test_tells_what_a_report_adds(body: str) -> None:
    """A report adds more than 1 where it supports a value, and less than nothing elsewhere."""
    one = influence([mechanism(body)])
    assert one is not None
    assert one.least < 0
    assert one.most > 1


def test_a_filter_turned_round_adds_as_much() -> None:
    """RAPPOR with p and q exchanged supports by a clear bit: the same bounds, mirrored."""
    text = (
        'mechanism = "basic_rappor"\nf = 0.5\np = {}\nq = {}\nmax_values = 1\nvalues = ["a", "b"]\n'
    )
    straight, turned = (
        influence([mechanism(text.format(*pair))]) for pair in ((0.25, 0.75), (0.75, 0.25))
    )
    assert straight is not None
    assert turned is not None
    assert turned.least == pytest.approx(straight.least)
    assert turned.most == pytest.approx(straight.most)


def test_several_revisions_have_the_widest() -> None:
    """Of two revisions the smaller epsilon lets a fake do more."""
    strict, loose = mechanism(KRR), mechanism(KRR.replace("1.0", "4.0"))
    assert influence([strict, loose]) == influence([strict])


@pytest.mark.parametrize(
    "body",
    [
        'mechanism = "local_hashing"\nepsilon = 1.0\ncohorts = 4\nvalues = ["a", "b"]\n',
        'mechanism = "rappor"\nbits = 16\nf = 0.5\np = 0.75\nq = 0.25\nmax_values = 1\n',
        'mechanism = "cms"\nepsilon = 1.0\ncohorts = 4\ncolumns = 16\n',
    ],
)
def test_a_regression_has_no_bound(body: str) -> None:
    """What a report adds to a regression depends on the candidates, so nothing is promised."""
    assert influence([mechanism(KRR), mechanism(body)]) is None


def test_the_interval_follows_the_formula() -> None:
    """No fakes leave it as it is, some widen both ends, nothing but fakes leaves [0, 1]."""
    most = Influence(-0.5, 2.0)
    assert robust_interval(0.3, 0.4, 0.0, most) == (0.3, 0.4)
    assert robust_interval(0.3, 0.4, 0.1, most) == pytest.approx((0.1 / 0.9, 0.45 / 0.9))
    assert robust_interval(0.3, 0.4, 1.0, most) == (0.0, 1.0)
    with pytest.raises(ValueError, match="share: is not between 0 and 1"):
        robust_interval(0.3, 0.4, 1.01, most)


def test_the_collector_tells_it(tmp_path: Path) -> None:
    """`robust` wins over `fakes`; a row has null bounds without data."""
    text = f"[registry]\ndaily_epsilon = 100\n\n[metrics.m]\n{HEAD}{KRR}"
    with collector(tmp_path / "rumor.sqlite3", text) as running:
        assert _bounds(running) == [(None, None)] * 3
        running.send(batch(report("m"), report("m")))
        page = running.estimates("m", robust=0.05, fakes=0.5)
        assert page["fake_share"] == page["authenticity"][0]["fake_share"] == 0.05
        most = influence([mechanism(KRR)])
        assert most is not None
        for row in page["rows"]:
            expected = robust_interval(row["low"], row["high"], 0.05, most)
            assert (row["robust_low"], row["robust_high"]) == pytest.approx(expected)
        plain = running.estimates("m", robust=0)["rows"]
        assert _bounds(running, robust=0) == [(row["low"], row["high"]) for row in plain]
        answer = running.client.get("/v1/metrics/m/estimates?robust=1.5")
        assert answer.status_code == 400
        assert "robust" in answer.json()["detail"]


def _bounds(running: Collector, **query: float) -> list[tuple[float | None, float | None]]:
    return [
        (row["robust_low"], row["robust_high"]) for row in running.estimates("m", **query)["rows"]
    ]
