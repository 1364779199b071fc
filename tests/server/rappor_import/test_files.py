"""`rumor import rappor` reads Google's files, says what is wrong with them, and decodes them."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Callable
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor_server.cli.import_ import main
from rumor_server.rappor_import.analysis import COLUMNS, ImportedEstimates, import_rappor
from rumor_server.rappor_import.files import RapporFileError, read_counts, read_params
from rumor_server.rappor_import.map import read_map
from rumor_shared.rappor_md5 import RapporClient

DATA = Path(__file__).parents[2] / "data" / "rappor"
VECTORS = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))
THEIRS = VECTORS["their_tests"]
R = VECTORS["r_analysis"]

PARAMS = "k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\n"
COUNTS = "1000,400,450,500,550\n900,400,380,420,460\n"
MAP = "a,1,2,5,6\nb,3,4,7,8\nc,1,3,5,7\n"


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., list[str]]:
    """Write the three files, good ones where no other text is given; return the command's words."""

    def write(params: str = PARAMS, counts: str = COUNTS, map_: str | None = MAP) -> list[str]:
        words = ["rappor"]
        for name, text in (("params", params), ("counts", counts), ("map", map_)):
            if text is not None:
                path = tmp_path / f"{name}.csv"
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
                words += [f"--{name}", str(path)]
        return words

    return write


def as_csv(params: dict[str, Any]) -> str:
    """Return a file of parameters."""
    return f"k,h,m,p,q,f\n{','.join(str(params[key]) for key in 'khmpqf')}\n"


def table_csv(rows: list[list[Any]]) -> str:
    """Return rows as CSV."""
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def decoded(words: list[str], **options: Any) -> ImportedEstimates:
    """Decode the files that words of the command name."""
    paths = dict(zip(words[1::2], words[2::2], strict=True))
    return import_rappor(paths["--params"], paths["--counts"], paths.get("--map"), **options)[0]


def case(name: str, *options: str) -> list[str]:
    """Return the command's words for a case."""
    files = [f"--{part}={DATA / name / part}.csv" for part in ("params", "counts", "map")]
    return ["rappor", *files, *options]


# ---------------------------------------------------------------- what is wrong with a file


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


# ---------------------------------------------------------------- what is accepted


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


# ---------------------------------------------------------------- what is printed


def test_csv_has_the_agreed_columns(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """CSV has one row a candidate, the commonest first, with shares of 1 and true or false."""
    assert main([*written(), "--format", "csv"]) == 0
    header, *rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert tuple(header) == COLUMNS
    assert sorted(row[0] for row in rows) == ["a", "b", "c"]
    estimates = [float(row[1]) for row in rows]
    assert estimates == sorted(estimates, reverse=True)
    for row in rows:
        frequency, std_error, low, high, p_value = (float(text) for text in row[2:7])
        assert isclose(float(row[1]), frequency * 1900)
        assert low < frequency < high
        assert 0 < std_error < 1
        assert 0 <= p_value <= 1
        assert row[7] in ("true", "false")


def test_json_adds_the_unexplained_share(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON carries the rows of CSV, the reports, the settings and the unexplained share."""
    words = [*written(), "--client", "cpp", "--alpha", "0.01", "--correction", "bonferroni"]
    assert main([*words, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n"] == 1900
    assert (document["client"], document["alpha"]) == ("cpp", 0.01)
    assert document["correction"] == "bonferroni"
    assert isinstance(document["unexplained"], float)
    assert document["unexplained_std_error"] > 0
    assert {*COLUMNS, "pointwise_low", "pointwise_high"} == set(document["rows"][0])
    assert main([*words, "--format", "csv"]) == 0
    printed = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for row, line in zip(document["rows"], printed, strict=True):
        assert [json.dumps(row[name]).strip('"') for name in COLUMNS] == list(line.values())


def test_table_shows_what_is_significant(capsys: pytest.CaptureFixture[str]) -> None:
    """The table holds the significant candidates, and the share that none of all explains."""
    assert main(case("checked-in-rappor-analysis")) == 0
    output = capsys.readouterr().out
    assert "V_1 " in output
    assert "V_300 " not in output
    assert "10000000 reports" in output
    assert "Unexplained by any candidate" in output


def test_no_report_gives_no_number(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without reports each candidate has a row of blanks or nulls, never NaN."""
    words = written(counts="0,0,0,0,0\n0,0,0,0,0\n")
    assert main([*words, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["a,,,,,,,", "b,,,,,,,", "c,,,,,,,"]
    assert main([*words, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n"] == 0
    assert document["unexplained"] is None
    assert document["rows"][0]["frequency"] is None
    assert main(words) == 0
    assert "0 reports; 0 of 3 candidates" in capsys.readouterr().out


def test_selected_bounds_are_wider_than_pointwise() -> None:
    """Bounds of a significant row are adjusted for the selection, others are pointwise."""
    found = decoded(as_words("r-exp-small-typical"))
    wider = found.high - found.low > found.pointwise_high - found.pointwise_low
    assert wider[found.significant].all()
    assert not wider[~found.significant].any()
    assert 0 < found.significant.sum() < len(found.values)


def as_words(name: str) -> list[str]:
    """Return a case's files in the form of the fixture `written`."""
    words = ["rappor"]
    for part in ("params", "counts", "map"):
        words += [f"--{part}", str(DATA / name / f"{part}.csv")]
    return words


# ---------------------------------------------------------------- what is decoded


def truth_of(name: str) -> dict[str, float]:
    """Return the true shares of a case."""
    with (DATA / name / "true_hist.csv").open(encoding="utf-8", newline="") as file:
        counted = {row["string"]: float(row["count"]) for row in csv.DictReader(file)}
    total = sum(counted.values())
    return {value: count / total for value, count in counted.items()}


def test_reports_of_the_cpp_client_are_decoded() -> None:
    """A million reports of C++, decoded at its own f: every candidate's estimate is within 6.1
    standard errors of the truth (110 candidates: a false-alarm rate of 1.2e-7), their squares
    average about 1, and four in five true strings are found.
    """
    truth = truth_of("r-exp-small-typical")
    found = decoded(as_words("r-exp-small-typical"), client=RapporClient.CPP)
    shares = np.array([truth.get(value, 0.0) for value in found.values])
    z = (found.frequency - shares) / found.std_error
    assert abs(z).max() < 6.1
    # 110 squares of mean 1 and variance 2: .13 is one standard deviation of their mean.
    assert abs((z**2).mean() - 1) < 5 * 0.13
    assert found.significant.sum() >= 30
    assert (shares[found.significant] > 0).mean() > 0.8
    assert found.unexplained is not None
    assert found.unexplained_std_error is not None
    missing = 1 - shares.sum()
    assert abs(found.unexplained - missing) < 5 * found.unexplained_std_error


def test_the_clients_f_matters() -> None:
    """C++ has less noise than Python at f = .45, so its reports stand for smaller shares."""
    words = as_words("r-exp-small-typical")
    by = {client: decoded(words, client=client) for client in RapporClient}
    first = {client: float(one.frequency[0]) for client, one in by.items()}
    assert first[RapporClient.CPP] < first[RapporClient.EXACT] < first[RapporClient.PYTHON]
    assert first[RapporClient.PYTHON] == first[RapporClient.JAVA]
    assert isclose(first[RapporClient.PYTHON] / first[RapporClient.CPP], 71 / 70, rel_tol=2e-3)


def test_checked_in_analysis() -> None:
    """On the files checked into Google's repository V_1 comes out between .0325 and .0327, as
    theirs did, within its standard error.
    """
    found = decoded(as_words("checked-in-rappor-analysis"))
    v_1 = found.values.index("V_1")
    assert abs(found.frequency[v_1] - 0.0326) < 4 * found.std_error[v_1]
    assert found.n == 10_000_000
    assert 80 <= found.significant.sum() <= 150


def test_small_model_of_the_analysis(written: Callable[..., list[str]]) -> None:
    """On the 12 candidates of Google's own fits each true count is within 6 standard errors, and
    the strings that its 20 decodes agree on are found.
    """
    theirs = R["ConstrainedLinModel"]
    words = written(
        as_csv(theirs["params"]), table_csv(theirs["counts"]), "\n".join(theirs["map_csv"]) + "\n"
    )
    found = decoded(words)
    z = (found.frequency - np.array(theirs["true_partition"]) / found.n) / found.std_error
    assert abs(z).max() < 6
    coefs = np.array(theirs["coefs"])
    assert abs(found.frequency - coefs).max() < 6 * found.std_error.max()
    lasso = np.array(R["FitLasso"]["coefs"])
    assert abs(found.frequency - lasso).max() < 6 * found.std_error.max()
    assert found.significant.sum() >= min(R["Decode_20_seeds"]["n_detected"])


@pytest.mark.parametrize("name", sorted(R["EstimateBloomCounts"]))
def test_bit_estimates_of_the_analysis(name: str, written: Callable[..., list[str]]) -> None:
    """Each bit's share, at these rates, is what EstimateBloomCounts gives, q below p among them."""
    theirs = R["EstimateBloomCounts"][name]
    words = written(as_csv(theirs["params"]), table_csv(theirs["counts"]))
    params = read_params(words[2])
    counted = read_counts(words[4], params)
    set_rate, clear_rate = (float(rate) for rate in params.rates(RapporClient.EXACT))
    shares = (counted.counts / counted.reports[:, None] - clear_rate) / (set_rate - clear_rate)
    np.testing.assert_allclose(shares, theirs["estimates"], rtol=1e-9)


def test_reports_turned_round_decode_alike(written: Callable[..., list[str]]) -> None:
    """With q below p the zeros speak for a candidate: the mirrored counts give the same answer."""
    plain = decoded(written())
    mirrored = "1000,600,550,500,450\n900,500,520,480,440\n"
    turned = decoded(written(PARAMS.replace("0.25,0.75", "0.75,0.25"), mirrored))
    np.testing.assert_allclose(turned.frequency, plain.frequency)
    np.testing.assert_allclose(turned.p_value, plain.p_value)


def test_one_cohort_is_decoded(written: Callable[..., list[str]]) -> None:
    """m = 1, which Google's analysis can't decode, is a plain case."""
    found = decoded(
        written("k,h,m,p,q,f\n4,1,1,0.25,0.75,0\n", "4000,2125,1625,1125,1125\n", "a,1\nb,2\n")
    )
    np.testing.assert_allclose(found.frequency, [0.5, 0.25], atol=1e-3)
    assert found.unexplained is not None
    assert isclose(found.unexplained, 0.25, abs_tol=1e-3)


# ---------------------------------------------------------------- booleans


def test_boolean_of_the_analysis(written: Callable[..., list[str]]) -> None:
    """k = 1 is decoded in closed form and without a map: DecodeBoolean's 48 and 1752."""
    theirs = R["DecodeBoolean"]
    found = decoded(written(as_csv(theirs["params"]), table_csv(theirs["counts"]), None))
    by_value = {row["value"]: row for row in found.rows()}
    for row in theirs["fit"]:
        ours = by_value[row["string"]]
        assert isclose(ours["estimate"], row["estimate"], rel_tol=1e-9)
        # Theirs takes the reports for independent draws; ours holds the population fixed.
        assert isclose(ours["std_error"], row["prop_std_error"], rel_tol=0.01)
    assert found.unexplained is None


def test_boolean_near_zero(
    written: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A boolean that nobody holds is decoded, where Google's analysis fails; a map is not read."""
    params = "k,h,m,p,q,f\n1,1,2,0.25,0.75,0.5\n"
    assert main([*written(params, "1000,370\n800,290\n", "x,1,2\n"), "--format", "csv"]) == 0
    output = capsys.readouterr()
    rows = {row["value"]: row for row in csv.DictReader(io.StringIO(output.out))}
    assert float(rows["TRUE"]["estimate"]) < 0
    assert rows["TRUE"]["significant"] == "false"
    assert rows["FALSE"]["significant"] == "true"
    assert "not read, since k = 1" in output.err


def test_closed_forms_of_cobalt(written: Callable[..., list[str]]) -> None:
    """Cobalt's estimate (Y - pN)/(q - p) and its standard error where that lies in 0 to N."""
    rows = VECTORS["cobalt_debias"]["rows"]
    assert len(rows) == 47
    compared = 0
    for row in rows:
        n, p, q, ones = (row[key] for key in ("N", "p", "q", "ones"))
        found = decoded(written(f"k,h,m,p,q,f\n1,1,1,{p},{q},0\n", f"{n},{ones}\n", None))
        if not n:
            assert found.n == 0
            continue
        ours = next(row for row in found.rows() if row["value"] == "TRUE")
        assert isclose(ours["estimate"], row["estimate"], rel_tol=1e-9, abs_tol=1e-9)
        if 0 <= row["estimate"] <= n:
            assert isclose(ours["std_error"] * n, row["std_error"], rel_tol=1e-6, abs_tol=1e-6)
            compared += 1
    assert compared > 20


def test_boolean_interval_holds_the_truth(written: Callable[..., list[str]]) -> None:
    """Of 400 simulated booleans the interval holds the truth in at least 346: a false-alarm rate of
    1e-11 where it covers 95%; planted intervals of one standard error fail.
    """
    rng = np.random.default_rng(17)
    n, yes, held, planted = 2000, 300, 0, 0
    for _ in range(400):
        ones = rng.binomial(yes, 0.625) + rng.binomial(n - yes, 0.375)
        found = decoded(written("k,h,m,p,q,f\n1,1,1,0.25,0.75,0.5\n", f"{n},{ones}\n", None))
        held += bool(found.pointwise_low[0] <= yes / n <= found.pointwise_high[0])
        planted += bool(abs(found.frequency[0] - yes / n) <= found.std_error[0])
    assert held >= 346
    assert planted < 346
