"""Files of tallies: what goes in comes out, and nothing else is ever taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.exchanging_collectors import DAYS, collect, exported, themes

from rumor_server.settings import Settings
from rumor_server.statistics.tally import Tally
from rumor_server.storage.tally_file import (
    DayTally,
    TallyFileError,
    read_tallies,
    write_tallies,
)

ENTRY = DayTally(
    "theme",
    1,
    "f" * 64,
    DAYS[0],
    frozenset({bytes(16), b"\xab" * 16}),
    Tally(np.array([3, 0]), np.array([[1, 2, 0], [0, 0, 0]])),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a real collector, with one tally."""
    folder = tmp_path_factory.mktemp("file")
    path = folder / "whole.npz"
    write_tallies(path, exported(collect(Settings(database=folder / "there"), themes("0"))))
    return path


def test_brings_back_what_was_written(tmp_path: Path) -> None:
    """Every field of every tally, and no file beside."""
    other = replace(ENTRY, revision=2, day=DAYS[1])
    path = tmp_path / "tallies.npz"
    write_tallies(path, [ENTRY, other])
    for read, written in zip(read_tallies(path), (ENTRY, other), strict=True):
        for name in ("metric", "revision", "fingerprint", "day", "sources"):
            assert getattr(read, name) == getattr(written, name)
        assert np.array_equal(read.tally.reports, written.tally.reports)
        assert np.array_equal(read.tally.counts, written.tally.counts)
    assert list(tmp_path.iterdir()) == [path]


def test_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault leaves the file that was there, and nothing beside it."""
    path = tmp_path / "tallies.npz"
    write_tallies(path, [ENTRY])
    before = path.read_bytes()

    def fail(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez_compressed", fail)
        with pytest.raises(OSError, match="no space"):
            write_tallies(path, [ENTRY])
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path()):
        with pytest.raises(IsADirectoryError):
            write_tallies(folder, [ENTRY])
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_reads_no_other_file(whole: Path, tmp_path: Path) -> None:
    """Text, a truncated archive and impossible counts are refused; nothing is ever unpickled."""
    text, cut, array = tmp_path / "text", tmp_path / "cut", tmp_path / "array.npy"
    text.write_text("value,count\n")
    cut.write_bytes(whole.read_bytes()[:-40])
    np.save(array, np.zeros(3))
    for path in (text, cut, array):
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
    most = np.array([2**48 + 1])
    for path, problem in (
        (changed(counts_0=good["counts_0"] + 1), "what no reports can"),
        (changed(counts_0=good["counts_0"] * 1.0), "not integers"),
        (changed(counts_0=good["counts_0"][0]), "no such shape"),
        (changed(reports_0=most), "more reports than a day can have"),
        (changed(reports_0=np.array([2**62] * 4), counts_0=np.zeros((4, 3), int)), "more reports"),
        (with_header(format="other"), "is not 'rumor tallies 1'"),
        (with_header(tallies=[{**first, "sources": []}]), "names no collector"),
        (with_header(tallies=[{**first, "sources": ["ab"]}]), "names no collector"),
        (with_header(tallies=[{**first, "sources": [7]}]), "is not a file of tallies"),
        (with_header(tallies=[{**first, "day": "soon"}]), "is not a file of tallies"),
        (with_header(tallies=[{**first, "metric": {}}]), "is not a file of tallies"),
        (with_header(tallies=[{**first, "revision": "1"}]), "is not a file of tallies"),
        (with_header(tallies=[first, first]), "is not a file of tallies"),
        (with_header(tallies=7), "is not a file of tallies"),
    ):
        with pytest.raises(TallyFileError, match=problem):
            read_tallies(path)


def test_reads_a_collector_in_capitals_as_the_same(whole: Path, tmp_path: Path) -> None:
    """A source is sixteen bytes, however a file spells them: another spelling is nobody else."""
    with np.load(whole) as arrays:
        good = dict(arrays)
    text = good["header"].tobytes().decode()
    (source,) = json.loads(text)["tallies"][0]["sources"]
    spelled = text.replace(source, source.upper()).encode()
    path = tmp_path / "capitals.npz"
    np.savez(path, **{**good, "header": np.frombuffer(spelled, dtype=np.uint8)})
    assert read_tallies(path)[0].sources == read_tallies(whole)[0].sources


Damage = Callable[[bytes], bytes]
damages: st.SearchStrategy[Damage] = st.one_of(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)).map(
        lambda one: lambda content: _flipped(content, int(one[0] * len(content)), one[1])
    ),
    st.floats(0, 1, exclude_max=True).map(
        lambda part: lambda content: content[: int(part * len(content))]
    ),
    st.binary(max_size=40).map(lambda other: lambda _: other),
)


def _flipped(content: bytes, at: int, bits: int) -> bytes:
    return content[:at] + bytes([content[at] ^ bits]) + content[at + 1 :]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_is_told_or_does_not_matter(whole: Path, tmp_path: Path, damage: Damage) -> None:
    """A file with a byte changed or its end lost reads as the same, or is refused in our words."""
    path = tmp_path / "damaged.npz"
    path.write_bytes(damage(whole.read_bytes()))
    (entry,) = read_tallies(whole)
    try:
        (read,) = read_tallies(path)
    except TallyFileError:
        return
    assert (read.title, read.sources) == (entry.title, entry.sources)
    assert np.array_equal(read.tally.counts, entry.tally.counts)


def test_refuses_a_small_file_that_would_fill_the_memory(tmp_path: Path, whole: Path) -> None:
    """A member that says more than one tally can hold is not read: 40 MB of zeros take 40 kB."""
    bomb = tmp_path / "bomb.npz"
    with np.load(whole, allow_pickle=False) as arrays:
        members = {name: arrays[name] for name in arrays.files}
    np.savez_compressed(bomb, **members | {"counts_0": np.zeros((1, 5_000_000), dtype=np.int64)})
    assert bomb.stat().st_size < 100_000
    with pytest.raises(TallyFileError, match="more than a tally can"):
        read_tallies(bomb)
