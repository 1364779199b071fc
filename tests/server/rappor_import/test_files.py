"""What is wrong with a file of Google's RAPPOR is named with its row; other spellings are read."""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.server.rappor_import.rappor_files import COUNTS, MAP, PARAMS, THEIRS, VECTORS, decoded

from rumor_server.cli.import_ import main
from rumor_server.rappor_import.files import RapporFileError, read_params
from rumor_server.rappor_import.map import read_map


@pytest.mark.parametrize(
    ("params", "row", "what"),
    [
        ("", None, "is empty"),
        ("k,h,m,p,q,f\n", None, "has no row of parameters"),
        ("4,2,2,0.25,0.75,0.5\n", 1, "is not the header"),
        ("k,h,m,p,q\n4,2,2,0.25,0.75,0.5\n", 1, "is not the header"),
        ("k,h,m,p,q,f,f\n4,2,2,0.25,0.75,0.5,0.5\n", 1, "is not the header"),
        ("k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\nextra", 3, "is one too many"),
        ("k,h,m,p,q,f\n4,2,2,0.25,0.75\n", 2, "has 5 columns, not 6"),
        ("k,h,m,p,q,f\n4.5,2,2,0.25,0.75,0.5\n", 2, "k is no whole number"),
        ("k,h,m,p,q,f\n4,0,2,0.25,0.75,0.5\n", 2, "h is no whole number"),
        ("k,h,m,p,q,f\n4,2,-1,0.25,0.75,0.5\n", 2, "m is no whole number"),
        ("k,h,m,p,q,f\n4,5,2,0.25,0.75,0.5\n", 2, "h = 5 is above k = 4"),
        ("k,h,m,p,q,f\n4000,2,4000,0.25,0.75,0.5\n", 2, "k x m passes"),
        ("k,h,m,p,q,f\n4,2,2,1.25,0.75,0.5\n", 2, "p is no probability"),
        ("k,h,m,p,q,f\n4,2,2,0.25,nan,0.5\n", 2, "q is no probability"),
        ("k,h,m,p,q,f\n4,2,2,0.25,0.75,half\n", 2, "f is no probability"),
        ("k,h,m,p,q,f\n4,2,2,0.25,0.75,1e-99999999\n", 2, "f is no probability"),
        ("k,h,m,p,q,f\n4,2,2,0.5,0.5,0.5\n", None, "p equals q"),
        ("k,h,m,p,q,f\n4,2,2,0.25,0.75,1\n", None, "f is 1 for this client"),
        ("k,h,m,p,q,f\n2,2,2,0.25,0.75,0.5\n", None, "h = 2 hashes fill all k = 2 bits"),
        ('k,h,m,p,q,f\n4,2,2,0.25,0.75,"0.5\n', 2, "is not CSV"),
    ],
)
def test_wrong_parameters_are_named(
    params: str,
    row: int | None,
    what: str,
    written: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Parameters that can't be used end with 1, the file, the row and the cause."""
    counts = "1000,400,450\n900,400,380\n" if "\n2,2," in params else COUNTS
    check_refused(written(params=params, counts=counts), "params.csv", row, what, capsys)


def check_refused(
    words: list[str], file: str, row: int | None, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Assert that the command refuses a file, naming it, the row and the cause, and no more."""
    assert main(words) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    where = f"{file}: " if row is None else f"{file}, row {row}: "
    assert where in output.err
    assert what in output.err
    assert "; " in output.err


def test_parameters_as_python_reads_them(tmp_path: Path) -> None:
    """What Python's Params.from_csv reads is read alike, and what it refuses is refused."""
    theirs = THEIRS["client/python/rappor_test.py::testFromCsv"]
    path = tmp_path / "params.csv"
    path.write_text(theirs["ok"]["text"], encoding="utf-8")
    params = read_params(path)
    read = (params.bits, params.hashes, params.cohorts, params.p, params.q, params.f)
    assert [float(value) for value in read] == [theirs["ok"][key] for key in "khmpqf"]
    for text in theirs["must_raise"]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RapporFileError):
            read_params(path)


@pytest.mark.parametrize(
    ("counts", "row", "what"),
    [
        ("", None, "is empty"),
        ("\n\n", None, "is empty"),
        ("total,bit0,bit1,bit2,bit3\n" + COUNTS, 1, "is a header"),
        ('"1",1000,400,450,500,550\n"2",900,400,380,420,460\n', 1, "begins with a row name"),
        ("first,1000,400,450,500,550\n", 1, "begins with a row name"),
        ("1000,400,450,500,550,0\n2,900,400,380,420,460\n", 2, "begins with a row name"),
        ('"","V1","V2","V3","V4","V5"\n"1",1000,400,450,500,550\n', 1, "is a header"),
        (COUNTS + "1,1,1,1,1\n", 3, "is beyond the m = 2 cohorts"),
        ("1000,400,450,500,550\n", None, "has 1 rows; m = 2"),
        ("1000,400,450,500,550\n900,400,380,420\n", 2, "has 4 columns; k = 4 needs 5"),
        ("1000;400;450;500;550\n", 1, "no number"),
        ("1000,400,450,500,550,0\n900,400,380,420,460,7\n", 2, "a bit beyond the k = 4 bits"),
        ("1000,400,450,500,550\n900,400,380,420,901\n", 2, "sets bit 3 more often"),
        ("1000,400,450,500,550\n900,400,380,420,-1\n", 2, "no count"),
        ("1000,400,450,500,550\n900,400,380,420,1.5\n", 2, "no count"),
        ("1000,400,450,500,550\n900,400,380,NA,1\n", 2, "no number"),
        ("1000,400,450,500,550\n900,400,380,inf,1\n", 2, "no count"),
        ("1000,400,450,500,550\n1e30,400,380,5,1\n", 2, "no count"),
    ],
)
def test_wrong_counts_are_named(
    counts: str,
    row: int | None,
    what: str,
    written: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Counts with a header, of another shape, or impossible ones are refused with row and cause."""
    check_refused(written(counts=counts), "counts.csv", row, what, capsys)


@pytest.mark.parametrize(
    ("map_", "row", "what"),
    [
        ("", None, "is empty"),
        ("candidate,c0h0,c0h1,c1h0,c1h1\n" + MAP, 1, "is a header"),
        ("a,1,2,5,6\nb,3,4,7\n", 2, "has 3 indices, not m x h = 2 x 2"),
        ("a,1,2,5,6\nb\n", 2, "has 0 indices"),
        ("a,1,2,5,6\nb,3,4,7,9\n", 2, "outside 1 to m x k = 8"),
        ("a,1,2,5,6\nb,3,4,7,0\n", 2, "outside 1 to m x k = 8"),
        ("a,1,2,5,6\nb,3,4,7,-9223372036854775808\n", 2, "no whole number"),
        ("a,1,2,5,6\nb,3,4,7,99999999999999999999\n", 2, "no whole number"),
        ("a,1,2,5,6\nb,3,4,7,x\n", 2, "no whole number"),
        ("a,1,2,5,6\nb,3,4,2,7\n", 2, "or with more than h = 2"),
        ("a,1,2,5,6\nb,3,4,,\n", 2, "a cohort without an index"),
        ("a,1,2,5,6\nb,3,4,7,8\na,1,2,5,6\n", 3, "repeats the candidate of row 1"),
        ("a,1,2,5,6\n\udcff,3,4,7,8\n", 2, "is not UTF-8"),
        ('a,1,2,5,6\n"b,3,4,7,8\n', 2, "is not CSV"),
    ],
)
def test_wrong_map_is_named(
    map_: str,
    row: int | None,
    what: str,
    written: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A map with a header, of another shape, or with impossible indices is refused with row and
    cause.
    """
    check_refused(written(map_=map_), "map.csv", row, what, capsys)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("option", ["--params", "--counts", "--map"])
def test_utf_16_is_named(
    option: str,
    encoding: str,
    written: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """N-26: a file with two or four bytes a letter is called that, with or without a mark."""
    words = written()
    file = Path(words[words.index(option) + 1])
    file.write_bytes(file.read_text("utf-8").encode(encoding))
    check_refused(words, file.name, None, "is UTF-16", capsys)


def test_row_names_of_r_are_named(tmp_path: Path) -> None:
    """N-26: parameters and maps that R wrote with row names are refused as that."""
    path = tmp_path / "params.csv"
    path.write_text('"","k","h","m","p","q","f"\n"1",4,2,2,0.25,0.75,0.5\n', "utf-8")
    with pytest.raises(RapporFileError, match=r"row 1: begins with a column of row names; .*FALSE"):
        read_params(path)
    path.write_text("k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\n", "utf-8")
    params = read_params(path)
    map_ = tmp_path / "map.csv"
    map_.write_text('"1","a",1,2,5,6\n"2","b",3,4,7,8\n', "utf-8")
    with pytest.raises(RapporFileError, match="row 1: begins with a row name"):
        read_map(map_, params)


@pytest.mark.parametrize("option", ["--params", "--counts", "--map"])
def test_file_that_is_not_there(
    option: str, written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that can't be read is named."""
    words = written()
    words[words.index(option) + 1] += ".gone"
    check_refused(words, f"{option[2:]}.csv.gone", None, "can't be read", capsys)


def test_missing_map_is_asked_for(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Strings need candidates: without a map the command says so."""
    check_refused(written(map_=None), "params.csv", None, "needs the candidates", capsys)


@pytest.mark.parametrize(
    "words",
    [
        ["--alpha", "0"],
        ["--alpha", "1"],
        ["--alpha", "nan"],
        ["--client", "go"],
        ["--format", "xml"],
        ["--correction", "none"],
    ],
)
def test_wrong_call_exits_with_2(words: list[str], written: Callable[..., list[str]]) -> None:
    """A wrong option ends with 2, as every command does."""
    assert main([*written(), *words]) == 2


@pytest.mark.parametrize(
    "variant",
    [
        {"params": '"k","h","m","p","q","f"\n4,2,2,0.25,0.75,0.5\n'},
        {"params": "\ufeff" + PARAMS.replace("\n", "\r\n")},
        {"params": "f,q,p,m,h,k\n0.5,.75,2.5e-01,2,2,4\n"},
        {"counts": COUNTS.replace("1000", "1e+03").replace("\n", "\r\n") + "\n"},
        {"counts": COUNTS.replace("\n", ",0,0\n")},
        {"map_": '"a","1","2","5","6"\nb,8,4,7,3\nc,1,3,5,7'},
        {"map_": "\ufeff" + MAP},
    ],
)
def test_other_spellings_mean_the_same(
    variant: dict[str, str], written: Callable[..., list[str]]
) -> None:
    """Quotes, a BOM, CRLF, another order, R's 1e+03 and columns of zeros change nothing."""
    plain = list(decoded(written()).rows())
    assert list(decoded(written(**variant)).rows()) == plain


def test_columns_of_zeros_are_passed_over_aloud(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns behind the last bit that hold only zeros are accepted, and the command says so."""
    assert main(written(counts=COUNTS.replace("\n", ",0,0\n"))) == 0
    assert "counts.csv: passed over 2 columns of zeros after bit 3" in capsys.readouterr().err


def test_hashes_that_coincide_are_one_bit(written: Callable[..., list[str]]) -> None:
    """An index given twice, or left blank once as R writes it, is one bit."""
    twice = decoded(written(map_="a,1,1,5,6\nb,3,4,7,8\n"))
    blank = decoded(written(map_="a,1,,5,6\nb,3,4,7,8\n"))
    assert list(twice.rows()) == list(blank.rows())
    assert list(twice.rows()) != list(decoded(written(map_="a,1,2,5,6\nb,3,4,7,8\n")).rows())


def test_their_maps_are_read(tmp_path: Path) -> None:
    """What hash_candidates writes (CRLF, quotes, an empty candidate) gives its indices."""
    (tmp_path / "params.csv").write_text("k,h,m,p,q,f\n8,2,8,0.25,0.75,0.5\n", encoding="utf-8")
    written = VECTORS["python_client"]["hash_candidates_k8h2m8"]["csv"]
    (tmp_path / "map.csv").write_bytes(written.encode())
    found = read_map(tmp_path / "map.csv", read_params(tmp_path / "params.csv"))
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert found.values == tuple(row[0] for row in rows)
    indices = found.positions(0, len(rows)).astype(int) + 8 * np.arange(8)[:, None] + 1
    assert indices.reshape(len(rows), -1).tolist() == [[int(i) for i in row[1:]] for row in rows]


def test_a_long_map_stays_small(tmp_path: Path) -> None:
    """A map costs its narrow integers, its names and one block: far from a Python int an index."""
    (tmp_path / "params.csv").write_text("k,h,m,p,q,f\n128,2,64,0.5,0.75,0\n", encoding="utf-8")
    params = read_params(tmp_path / "params.csv")
    row = "," + ",".join(str(128 * cohort + bit) for cohort in range(64) for bit in (5, 77))
    path = tmp_path / "map.csv"
    path.write_text("".join(f"candidate-{i}{row}\n" for i in range(12_000)), encoding="ascii")
    tracemalloc.start()
    found = read_map(path, params)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    indices = 12_000 * 128
    assert found.bits.nbytes == indices
    # As Python strings alone they would take 80 MB.
    assert peak < 50e6
