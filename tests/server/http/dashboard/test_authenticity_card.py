"""The card that says whether the counted reports look like perturbed answers."""

from __future__ import annotations

from pathlib import Path

from tests.harness.collector import TODAY, Collector, collector, report
from tests.harness.filled_collector import registry_text, send

HTML = {"Accept": "text/html"}
JSON = {"Accept": "application/json"}


def page(running: Collector, path: str) -> str:
    """A page as a browser asks for it."""
    answer = running.client.get(path, headers=HTML)
    assert answer.status_code == 200
    return answer.text


def test_an_honest_crowd_is_not_odd(running: Collector) -> None:
    """It says so, and that this proves nothing; its JSON says what the API says."""
    text = page(running, "/metric/theme")
    assert "Do the reports look honest?" in text
    assert "Nothing odd." in text
    shown = running.client.get("/metric/theme", headers=JSON).json()["authenticity"]
    assert shown == running.estimates("theme")["authenticity"]
    assert [one["revision"] for one in shown] == [1, 2]


def test_a_crowd_that_flips_no_coin_is_odd(tmp_path: Path) -> None:
    """Everybody names the same value, which no perturbation leaves so: the card names the law."""
    with collector(tmp_path / "rumor.sqlite3", registry_text()) as forged:
        send(forged, [report("theme", b"\0") for _ in range(500)], TODAY)
        text = page(forged, "/metric/theme")
        assert "Not all of them." in text
        assert "too many in a cell" in text


def test_a_withheld_metric_tells_nothing(running: Collector) -> None:
    """Before the release there is no card, as there is no estimate."""
    assert "Do the reports look honest?" not in page(running, "/metric/rare")
