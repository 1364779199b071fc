"""Tallies travel between collectors and are added, once."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.collecting import REGISTRY, TODAY, batch, compact, registry, report

from rumor_server.commands.tallies import main
from rumor_server.estimation import estimate_metric
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.storage.sqlite_exchange import MergeRefused, export_tallies, merge_tallies
from rumor_server.storage.sqlite_store import SqliteStore
from rumor_server.storage.tally_file import TallyFileError, read_tallies, write_tallies
from rumor_shared.wire import JSON

DAYS = [TODAY - timedelta(days=back) for back in (2, 1)]


def collect(path: Path, documents: list[dict[str, Any]], *, closed: bool = True) -> Path:
    """A database with these batches; their days are closed unless it is said otherwise."""
    declared = registry()
    with closing(SqliteStore(path)) as store:
        store.adopt(declared)
        batches = [
            screen_batch(
                decode_batch(compact(document), JSON),
                Charges(declared),
                TODAY,
                declared.max_age_days,
            )
            for document in documents
        ]
        if batches:
            results = store.commit(batches)
            assert {result.verdict for part in results for result in part} == {"accepted"}
        if closed:
            store.close_days(TODAY)
    return path


def themes(answers: str, day: date = DAYS[0]) -> list[dict[str, Any]]:
    """A batch a device, of theme 0, 1 or 2."""
    return [batch(report(payload=bytes([int(answer)])), day=day) for answer in answers]


def carried(path: Path) -> Path:
    """The file that a database exports."""
    file = path.with_suffix(".npz")
    assert main(["export", str(file), "--database", str(path)]) == 0
    return file


def counted(path: Path) -> list[int]:
    """How often each theme came, over all days."""
    with closing(SqliteStore(path)) as store:
        counts = store.tally(store.revisions("theme")[-1], date.min, date.max).counts
    return [int(count) for count in counts[0]]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Estimates of all metrics over all days, by name."""
    rows = []
    with closing(SqliteStore(path)) as store:
        for name, candidates in (("theme", None), ("page", ["a", "b"])):
            metric = store.revisions(name)[-1]
            tally = store.tally(metric, date.min, date.max)
            rows += list(estimate_metric(metric, tally, candidates).rows())
    return rows


devices = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 2**16 - 1), st.sampled_from(DAYS)
    ),
    max_size=24,
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(devices=devices, order=st.permutations(range(4)))
def test_any_split_over_servers_gives_the_identical_estimate(
    devices: list[tuple[int, int, int, date]], order: list[int]
) -> None:
    """Reports split among four collectors and merged in any order estimate as if one had all."""
    shares: list[list[dict[str, Any]]] = [[], [], [], []]
    for server, theme, bits, day in devices:
        page = report("page", bits.to_bytes(2, "little"), revision=3, cohort=bits % 4)
        shares[server].append(batch(report(payload=bytes([theme])), page, day=day))
    with tempfile.TemporaryDirectory() as folder:
        whole = collect(Path(folder, "whole"), [one for share in shares for one in share])
        merged = collect(Path(folder, "merged"), [])
        for server in order:
            part = collect(Path(folder, f"part{server}"), shares[server])
            tallies, _ = export_tallies(part, 1.0)
            file = Path(folder, f"part{server}.npz")
            write_tallies(file, tallies)
            merge_tallies(merged, 1.0, read_tallies(file))
        assert rows_of(merged) == rows_of(whole)


def test_merges_into_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The database's own reports and those of a file add, day by day."""
    here = collect(tmp_path / "here", themes("0012", DAYS[1]))
    there = collect(tmp_path / "there", [*themes("112"), *themes("0", DAYS[1])])
    file = carried(there)
    assert main(["merge", str(file), "--database", str(here)]) == 0
    assert "added 4 reports in 2 tallies" in capsys.readouterr().out
    assert counted(here) == [3, 3, 2]
    with closing(SqliteStore(here)) as store:
        metric = store.revisions("theme")[-1]
        assert store.tally(metric, DAYS[0], DAYS[0]).n == 3
        assert store.tally(metric, DAYS[1], DAYS[1]).n == 5


def test_refuses_a_file_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same reports are never added again: not by the file, nor by a later export."""
    here, there = collect(tmp_path / "here", []), collect(tmp_path / "there", themes("01"))
    file = carried(there)
    assert main(["merge", str(file), "--database", str(here)]) == 0
    for again in (file, carried(there)):
        assert main(["merge", str(again), "--database", str(here)]) == 1
        assert "counted here already" in capsys.readouterr().err
    assert counted(here) == [1, 1, 0]
    with pytest.raises(MergeRefused, match="counted here already"):
        merge_tallies(there, 1.0, read_tallies(file))


def test_refuses_a_detour(tmp_path: Path) -> None:
    """Reports that came by way of a third collector are known as their first one's."""
    one, two = collect(tmp_path / "one", themes("0")), collect(tmp_path / "two", themes("1"))
    merge_tallies(two, 1.0, export_tallies(one, 1.0)[0])
    assert counted(two) == [1, 1, 0]
    third = collect(tmp_path / "third", [])
    merge_tallies(third, 1.0, export_tallies(two, 1.0)[0])
    assert counted(third) == [1, 1, 0]
    for path, target in ((one, third), (two, one)):
        with pytest.raises(MergeRefused, match="counted here already"):
            merge_tallies(target, 1.0, export_tallies(path, 1.0)[0])
    assert counted(third) == [1, 1, 0]
    assert counted(one) == [1, 0, 0]


def test_refuses_another_meaning_whole(tmp_path: Path) -> None:
    """A tally of other parameters is refused, and the rest of its file with it."""
    there = collect(tmp_path / "there", [*themes("0"), *themes("1", DAYS[1])])
    here = tmp_path / "here"
    with closing(SqliteStore(here)) as store:
        store.adopt(registry(REGISTRY.replace("epsilon = 1.0", "epsilon = 2.0")))
    tallies, _ = export_tallies(there, 1.0)
    with pytest.raises(MergeRefused, match=r"theme revision 1 of [-0-9]+: means something else"):
        merge_tallies(here, 1.0, tallies)
    assert counted(here) == [0, 0, 0]


def test_needs_the_registry_of_an_unknown_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty database takes tallies once the registry is given; without it, it says so."""
    file = carried(collect(tmp_path / "there", themes("012")))
    here = tmp_path / "here"
    assert main(["merge", str(file), "--database", str(here)]) == 1
    assert "give the registry" in capsys.readouterr().err
    declared = tmp_path / "metrics.toml"
    declared.write_text(REGISTRY)
    argv = ["merge", str(file), "--database", str(here), "--registry", str(declared)]
    assert main(argv) == 0
    assert counted(here) == [1, 1, 1]


def test_open_days_stay_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A day that still takes reports is not exported, since it would change."""
    path = collect(tmp_path / "here", [*themes("0"), *themes("11", DAYS[1])], closed=False)
    file = tmp_path / "out.npz"
    assert main(["export", str(file), "--database", str(path)]) == 1
    assert "no report of a closed day" in capsys.readouterr().err
    assert not file.exists()
    with closing(SqliteStore(path)) as store:
        store.close_days(DAYS[0])
    assert main(["export", str(file), "--database", str(path)]) == 0
    assert [entry.day for entry in read_tallies(file)] == [DAYS[0]]
    assert f"1 reports in 1 tallies, of days up to {DAYS[0]}" in capsys.readouterr().out


def test_exports_the_metrics_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names choose; a name that the database does not have is an error."""
    page = batch(report("page", b"\x01\x00", revision=3, cohort=2), day=DAYS[0])
    path = collect(tmp_path / "here", [*themes("0"), page])
    assert [entry.metric for entry in export_tallies(path, 1.0, ["page"])[0]] == ["page"]
    argv = ["export", str(tmp_path / "x"), "--database", str(path), "--metric", "none"]
    assert main(argv) == 1
    assert "none: the database has no metric" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "x"), "--database", str(tmp_path / "absent")]) == 1
    assert not (tmp_path / "absent").exists()


def test_refuses_what_is_no_file_of_tallies(tmp_path: Path) -> None:
    """Text, a truncated file and impossible counts are refused; nothing is ever unpickled."""
    whole = carried(collect(tmp_path / "there", themes("0")))
    text, cut = tmp_path / "text", tmp_path / "cut"
    text.write_text("value,count\n")
    cut.write_bytes(whole.read_bytes()[:-40])
    for path in (text, cut):
        with pytest.raises(TallyFileError, match="is not a file of tallies"):
            read_tallies(path)
    with np.load(whole) as arrays:
        good = dict(arrays)
    header = json.loads(good["header"].tobytes())

    def changed(**arrays: Any) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
        np.savez(path, **{**good, **arrays})
        return path

    def with_header(**fields: Any) -> Path:
        text = json.dumps({**header, **fields}).encode()
        return changed(header=np.frombuffer(text, dtype=np.uint8))

    first = header["tallies"][0]
    for path, problem in (
        (changed(counts_0=good["counts_0"] + 1), "what no reports can"),
        (changed(counts_0=good["counts_0"] * 1.0), "not integers"),
        (changed(counts_0=good["counts_0"][0]), "no such shape"),
        (with_header(format="other"), "is not 'rumor tallies 1'"),
        (with_header(tallies=[{**first, "sources": []}]), "names no collector"),
        (with_header(tallies=[{**first, "day": "soon"}]), "is not a file of tallies"),
        (with_header(tallies=[first, first]), "is not a file of tallies"),
    ):
        with pytest.raises(TallyFileError, match=problem):
            read_tallies(path)


def test_file_holds_counts_alone(tmp_path: Path) -> None:
    """No key, no id and no pseudonym leaves a database with its tallies."""
    path = collect(tmp_path / "there", themes("0"))
    content = carried(path).read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        (key,) = connection.execute("SELECT id_key FROM collector").fetchone()
    assert key not in content
    with np.load(path.with_suffix(".npz")) as arrays:
        assert sorted(arrays) == ["counts_0", "header", "reports_0"]
