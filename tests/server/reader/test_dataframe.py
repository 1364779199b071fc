"""The reader for analysts: frames from a real `rumor serve`, and from its file; the notebook."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.docs.blocks import HOUSE
from tests.harness.collector import REGISTRY, batch, compact, report
from tests.harness.collector_process import DAY, Serving

from rumor_server import analyst
from rumor_server.cli import query
from rumor_server.queries.rows import Row

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")
TODAY = DAY


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector with reports of yesterday and today."""
    running = Serving(tmp_path_factory.mktemp("analyst"), LASTING)
    running.start()
    try:
        for days, payload in ((1, b"\x00"), (1, b"\x01"), (0, b"\x01"), (0, b"\x01")):
            sent = batch(report(payload=payload), day=TODAY - timedelta(days=days))
            assert running.request("POST", "/v1/reports", compact(sent)).status == 200
        sent = batch(report("page", b"\x03\x80", revision=3, cohort=2), day=TODAY)
        assert running.request("POST", "/v1/reports", compact(sent)).status == 200
        yield running
    finally:
        running.kill()


def url(serving: Serving) -> str:
    """Where it listens."""
    return f"http://127.0.0.1:{serving.port}"


def test_reads_what_the_collector_answers(serving: Serving) -> None:
    """The frame holds every number of the JSON answer, indexed by value, and the rest as attrs."""
    frame = analyst.read_estimates(url(serving), "theme")
    page = serving.request("GET", "/v1/metrics/theme/estimates").json
    assert frame.index.tolist() == ["light", "dark", "system"]
    assert list(frame.columns) == [name for name in Row.model_fields if name != "value"]
    for row in page.pop("rows"):
        for name in frame.columns:
            assert frame.loc[row["value"], name] == row[name]
    assert frame.attrs == page
    assert frame["frequency"].sum() == pytest.approx(1)


def test_reads_the_file_as_it_reads_the_collector(serving: Serving) -> None:
    """The database beside a running collector gives the same frame, for the same question."""
    for question in (
        {"metric": "theme"},
        {"metric": "theme", "first": TODAY, "last": str(TODAY), "alpha": 0.2, "revision": 1},
        {"metric": "page", "candidates": ["home", "about"]},
        {"metric": "page"},
        {"metric": "old"},
    ):
        there = analyst.read_estimates(url(serving), **question)
        here = analyst.read_estimates(serving.database, **question)
        pd.testing.assert_frame_equal(here, there)
        ours, theirs = (
            {name: value for name, value in frame.attrs.items() if name != "authenticity"}
            for frame in (here, there)
        )
        assert ours == theirs


def test_tells_the_same_ranks_everywhere(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    """API, `rumor query --ranks`, and the reader over HTTP and on the file: equal numbers."""
    page = serving.request("GET", "/v1/metrics/theme/ranks").json
    assert query.main(["theme", "--ranks", "--json", "--url", url(serving)]) == 0
    assert json.loads(capsys.readouterr().out) == page
    assert query.main(["theme", "--ranks", "--url", url(serving)]) == 0
    shown = capsys.readouterr().out
    rows = page.pop("rows")
    for source in (url(serving), serving.database):
        frame = analyst.read_ranks(source, "theme")
        assert frame.attrs == page
        assert frame.reset_index().to_dict("records") == rows
    for row in rows:
        assert f"{100 * row['frequency']:.2f}" in shown
        assert f"{row['best_rank']} to {row['worst_rank']}" in shown


def test_tells_the_same_watch_everywhere(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    """API, `rumor query --watch`, and the reader over HTTP and on the file: equal numbers."""
    page = serving.request("GET", "/v1/metrics/theme/watch").json
    assert query.main(["theme", "--watch", "--json", "--url", url(serving)]) == 0
    assert json.loads(capsys.readouterr().out) == page
    assert query.main(["theme", "--watch", "--url", url(serving)]) == 0
    shown = capsys.readouterr().out
    rows = page.pop("rows")
    for row in rows:
        assert f"{100 * row['low']:.2f} to {100 * row['high']:.2f}" in shown
        row["day"] = pd.Timestamp(row["day"])
    for source in (url(serving), serving.database):
        frame = analyst.read_watch(source, "theme")
        assert frame.attrs == page
        assert frame.reset_index().to_dict("records") == rows
    assert query.main(["theme", "--watch", "--from", str(TODAY), "--url", url(serving)]) == 1
    assert "newest revision" in capsys.readouterr().err


def test_types_hold_without_data(serving: Serving) -> None:
    """A frame with nothing to tell has the types of any other: NaN and NA, no object column."""
    some = analyst.read_estimates(url(serving), "theme")
    none = analyst.read_estimates(url(serving), "theme", last="2020-01-01")
    empty = analyst.read_estimates(url(serving), "page")
    assert none.dtypes.to_dict() == empty.dtypes.to_dict() == some.dtypes.to_dict()
    assert none["frequency"].isna().all()
    assert none["significant"].isna().all()
    assert (len(none), len(empty), none.attrs["status"]) == (3, 0, "no_data")
    assert str(some["significant"].dtype) == "boolean"


def test_reads_metrics(serving: Serving) -> None:
    """Every metric with its cost as numbers and its days as days."""
    frame = analyst.read_metrics(url(serving))
    assert frame.index.tolist() == ["theme", "page", "old"]
    assert frame.loc["theme", "epsilon_report"] == 1.0
    assert pd.isna(frame.loc["theme", "epsilon_infinity"])
    assert frame.loc["theme", "last_day"].date() == TODAY
    assert pd.isna(frame.loc["old", "first_day"])


def test_says_what_to_do(serving: Serving, tmp_path: Path) -> None:
    """Each mistake is one sentence: no file, no such metric, no day, no collector, no candidate."""
    with pytest.raises(analyst.QueryFailed, match="no such file"):
        analyst.read_estimates(tmp_path / "none.sqlite3", "theme")
    assert not (tmp_path / "none.sqlite3").exists()
    for source in (url(serving), serving.database):
        with pytest.raises(analyst.QueryFailed, match="no registry ever declared"):
            analyst.read_estimates(source, "unknown")
        with pytest.raises(analyst.QueryFailed, match="not a day"):
            analyst.read_estimates(source, "theme", first="yesterday")
        with pytest.raises(analyst.QueryFailed, match="closed domain"):
            analyst.read_estimates(source, "theme", candidates=["dark"])
    with pytest.raises(analyst.QueryFailed, match="no collector answers"):
        analyst.read_estimates("http://127.0.0.1:9", "theme")
    with pytest.raises(analyst.QueryFailed, match="give an address"):
        analyst.read_metrics(serving.database)


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`examples/estimates.ipynb` is a valid notebook whose cells run in order, and it shows a bar
    with its interval for each value.
    """
    notebook = json.loads((HOUSE / "examples" / "estimates.ipynb").read_text("utf-8"))
    assert (notebook["nbformat"], notebook["cells"][0]["cell_type"]) == (4, "markdown")
    monkeypatch.setenv("RUMOR_URL", url(serving))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        assert isinstance(cell["source"], list)
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102 - ours
    assert len(names["axes"].patches) == 3
    assert names["theme"].attrs["n"] == 4
    assert not list(tmp_path.iterdir())


def test_reads_periods(serving: Serving) -> None:
    """Trend and comparison come as frames, of a collector alone."""
    trend = analyst.read_trend(url(serving), "theme")
    assert list(trend.loc[pd.Timestamp(TODAY), "n"]) == [2] * 3
    assert trend.attrs["days_a_point"] == 1
    change = analyst.read_comparison(url(serving), "theme", first=TODAY, last=TODAY)
    assert change.attrs["before"]["n"] == 2
    assert set(change.index) == {"light", "dark", "system"}
    with pytest.raises(analyst.QueryFailed, match="running collector"):
        analyst.read_trend("rumor.sqlite3", "theme")


def test_columns_are_the_server_s() -> None:
    """The reader knows the columns without the server's extra, and by their names."""
    from rumor_server.reader.dataframe import COLUMNS

    assert list(COLUMNS) == list(Row.model_fields)
