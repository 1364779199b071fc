"""Truth beside estimates: what the demo counts, marks and prints."""

import io
import math
import random

import pytest
from rich.console import Console

from rumor_simulations.demo.comparison import Comparison, Coverage, Row, compare, find_faults
from rumor_simulations.demo.report import print_report


def row(value: str, truth: float, estimate: float, *, significant: bool = False) -> Row:
    """A row with a standard error of .01 and the interval that follows."""
    low, high = estimate - 0.0196, estimate + 0.0196
    return Row(value, truth, estimate, 0.01, low, high, significant)


def comparison(*rows: Row, open_domain: bool = False) -> Comparison:
    """A metric with these rows."""
    return Comparison("theme", "oue", 2.0, 1000, open_domain, rows)


def test_compare_takes_truth_from_what_was_recorded() -> None:
    """Truth is the share of devices that recorded a value, 0 for a value that none recorded."""
    estimates = [
        {"value": value, "frequency": 0.5, "std_error": 0.1, "low": 0.3, "high": 0.7}
        | {"significant": value == "a"}
        for value in ("a", "b")
    ]
    first, second = compare(estimates, {"a": 4, "c": 12})
    assert (first.truth, first.estimate, first.significant) == (0.25, 0.5, True)
    assert (second.truth, second.holds) == (0.0, False)


def test_compare_refuses_to_divide_by_nobody() -> None:
    """Without a recorded answer there is no truth, and the error says so."""
    with pytest.raises(ValueError, match="no device recorded"):
        compare([], {})


def test_interval_holds_its_own_bounds() -> None:
    """An interval holds the truth at its bounds and not beyond."""
    assert Row("a", 0.25, 0.5, 0.1, 0.25, 0.75, False).holds
    assert not Row("a", 0.2499, 0.5, 0.1, 0.25, 0.75, False).holds


def test_z_is_finite_where_estimate_is_exact() -> None:
    """An estimate without error is at distance 0 if it is right, infinitely far if it is wrong."""
    assert Row("a", 0.5, 0.5, 0.0, 0.5, 0.5, False).z == 0
    assert Row("a", 0.5, 0.4, 0.0, 0.4, 0.4, False).z == -math.inf
    assert Row("a", 0.5, 0.6, 0.0, 0.6, 0.6, False).z == math.inf


@pytest.mark.parametrize(
    ("hits", "intervals", "probability"),
    [
        # .95 ** 20 = .3585 for 20 of 20; counts at most that likely are 20 and 17 or fewer (.0755),
        # and 18 (.1887); 19 is likelier (.3774).
        (20, 20, 0.62265),
        (19, 20, 1.0),
        (1, 1, 1.0),
        (0, 1, 0.05),
        (0, 0, 1.0),
    ],
)
def test_coverage_probability_is_the_exact_binomial(
    hits: int, intervals: int, probability: float
) -> None:
    """The check is the exact two-sided binomial test against 95%."""
    assert Coverage(hits, intervals).probability == pytest.approx(probability, abs=1e-4)


def test_mirrored_answers_count_as_one_interval() -> None:
    """A metric of two values has one interval: the other is its mirror image."""
    metric = comparison(row("no", 0.6, 0.7), row("yes", 0.4, 0.3))
    assert metric.coverage == Coverage(0, 1)


def test_open_metric_tells_found_from_invented() -> None:
    """Significant values that no device holds are told apart from those that some hold."""
    metric = comparison(
        row("held", 0.3, 0.31, significant=True),
        row("missed", 0.01, 0.012),
        row("invented", 0.0, 0.05, significant=True),
        open_domain=True,
    )
    assert [r.value for r in metric.commonest] == ["held", "missed", "invented"]
    assert [r.value for r in metric.found] == ["held", "invented"]
    assert [r.value for r in metric.found_absent] == ["invented"]


def test_json_has_exactly_the_promised_fields() -> None:
    """A metric in JSON has the fields that scripts rely on, no more and no fewer."""
    document = comparison(row("a", 0.5, 0.6)).as_json()
    assert list(document) == ["name", "mechanism", "epsilon", "reports", "rows"]
    (only,) = document["rows"]
    assert list(only) == ["value", "truth", "estimate", "std_error", "low", "high"]


def test_report_shows_verdicts_and_what_was_invented() -> None:
    """The report says how many intervals hold the truth, and which found values nobody holds."""
    rows = [row(f"held {i}", 0.1, 0.1 + i / 1000, significant=True) for i in range(5)]
    rows += [row("invented [red]", 0.0, 0.05, significant=True), row("rare", 0.001, 0.0)]
    written = io.StringIO()
    print_report(Console(file=written, width=200), [comparison(*rows, open_domain=True)])
    text = written.getvalue()
    assert "6 of 7 intervals hold the truth" in text
    assert "5 of the 5 commonest found within 4 standard errors" in text
    assert "6 of 7 candidates found, 1 of them on no device" in text
    assert "on no device: invented [red]" in text


def test_counts_that_differ_from_what_was_acknowledged_are_a_fault() -> None:
    """One report lost, or one counted twice, is named with both numbers."""
    metric = comparison(row("a", 0.5, 0.5))
    assert find_faults({"theme": 1000}, [metric]) == ()
    for acknowledged in (999, 1001):
        (fault,) = find_faults({"theme": acknowledged}, [metric])
        assert fault.startswith("theme: ")
        assert f"{acknowledged:,} reports were acknowledged, 1,000 are counted" in fault


def test_intervals_that_miss_too_often_are_a_fault() -> None:
    """Standard errors that are a fifth too small are a fault over 1,000 intervals, true ones not.

    Seed 7. True errors raise the alarm with probability 1e-6, as COVERAGE and FALSE_ALARM say.
    """
    rng = random.Random(7)
    zs = [rng.gauss(0, 1) for _ in range(1000)]
    honest = comparison(*(row(str(i), 0.0, 0.01 * z) for i, z in enumerate(zs)))
    assert find_faults({"theme": 1000}, [honest]) == ()
    planted = comparison(*(row(str(i), 0.0, 0.01 * z / 0.8) for i, z in enumerate(zs)))
    (fault,) = find_faults({"theme": 1000}, [planted])
    assert "intervals hold the truth" in fault
    wide = comparison(*(row(str(i), 0.0, 0.0) for i in range(1000)))
    assert find_faults({"theme": 1000}, [wide]) == ()
