"""The demo's tables for people: truth beside estimate, and what the numbers promise."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rumor_simulations.demo.comparison import COMMONEST, NEAR, Comparison, Coverage, Row

# Longer tables hide what they show: an open metric prints its commonest and its found values.
_ROWS = 40


def print_report(console: Console, comparisons: list[Comparison]) -> None:
    """Print a table and a verdict for each metric, then the verdict over all of them."""
    total = Coverage(0, 0)
    for comparison in comparisons:
        total += comparison.coverage
        console.print(_table(comparison))
        for line in _verdicts(comparison):
            console.print(line)
        console.print()
    console.print(Text.assemble(("All metrics: ", "bold"), _coverage(total)))


def _table(comparison: Comparison) -> Table:
    table = Table(
        box=SIMPLE,
        title=f"{comparison.name}: {comparison.mechanism}, "
        f"epsilon {comparison.epsilon:g} a report, {comparison.reports:,} reports; in %",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("value", overflow="fold")
    for heading in ("truth", "estimate", "std. error", "95% interval", "z"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    for row in _shown(comparison):
        table.add_row(
            Text(row.value),
            _percent(row.truth),
            _percent(row.estimate),
            _percent(row.std_error),
            f"{_percent(row.low)} … {_percent(row.high)}",
            f"{row.z:+.2f}",
            Text("yes", "green") if row.holds else Text("no", "red"),
        )
    return table


def _shown(comparison: Comparison) -> list[Row]:
    ranked = sorted(comparison.rows, key=lambda row: -row.truth)
    if comparison.open_domain:
        commonest = set(comparison.commonest)
        ranked = [row for row in ranked if row.significant or row in commonest]
    return ranked[:_ROWS]


def _verdicts(comparison: Comparison) -> Iterator[Text]:
    yield _coverage(comparison.coverage)
    if not comparison.open_domain:
        return
    near = [row for row in comparison.commonest if row.significant and abs(row.z) <= NEAR]
    yield Text(
        f"{len(near)} of the {COMMONEST} commonest found within {NEAR:g} standard errors; "
        f"{len(comparison.found)} of {len(comparison.rows):,} candidates found, "
        f"{len(comparison.found_absent)} of them on no device (Bonferroni at 5%)."
    )
    for row in comparison.found_absent:
        yield Text(f"  on no device: {row.value}, estimated {_percent(row.estimate)}%")


def _coverage(coverage: Coverage) -> Text:
    share = coverage.hits / coverage.intervals if coverage.intervals else 1.0
    return Text(
        f"{coverage.hits:,} of {coverage.intervals:,} intervals hold the truth ({share:.1%}); "
        f"if each does with 95%, a count this unlikely has probability {coverage.probability:.3g}."
    )


def _percent(share: float) -> str:
    return f"{share * 100:.2f}"
