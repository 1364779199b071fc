"""`rumor import rappor` decodes Google's files, and prints what it found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from math import isclose

import numpy as np
import pytest
from tests.server.rappor_import.rappor_files import (
    DATA,
    PARAMS,
    VECTORS,
    R,
    as_csv,
    case,
    decoded,
    table_csv,
)

from rumor_server.cli.import_ import main
from rumor_server.rappor_import.analysis import COLUMNS
from rumor_server.rappor_import.files import read_counts, read_params
from rumor_shared.rappor_md5 import RapporClient


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
            # Cobalt's is told at the estimate, ours at the centre of its interval.
            absent, slope = p * (1 - p), q * (1 - q) - p * (1 - p)
            scale, share = n * (q - p) ** 2, row["estimate"] / n
            centre = min(1, max(0, share + 2 * slope / scale))
            at_estimate, at_centre = (
                n * ((absent + slope * f) / scale) ** 0.5 for f in (share, centre)
            )
            assert isclose(at_estimate, row["std_error"], rel_tol=1e-6, abs_tol=1e-6)
            assert isclose(ours["std_error"] * n, at_centre, rel_tol=1e-6, abs_tol=1e-6)
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
