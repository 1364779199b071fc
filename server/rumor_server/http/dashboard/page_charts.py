"""The charts of a metric's page, and what they say to those who can't see them."""

from __future__ import annotations

from collections.abc import Sequence

from rumor_server.http.dashboard.bar_chart import Bar, BarChart, bar_chart
from rumor_server.http.dashboard.contents import MetricPage
from rumor_server.http.dashboard.formats import decimals_for, percent, plural, signed
from rumor_server.http.dashboard.trend_chart import Panel, panel
from rumor_server.queries.comparison import ChangeRow
from rumor_server.queries.question import Status
from rumor_server.queries.rows import Row
from rumor_server.queries.trend import TrendRow

# A label that lists more than this is no summary.
_SUMMED_UP = 3


def values_chart(page: MetricPage, rows: Sequence[Row], decimals: int) -> BarChart | None:
    """Return the bars of some values, or None where nothing may or can be shown."""
    if page.measured.status is not Status.OK or page.too_few:
        return None
    bars = []
    for row in rows:
        low, high = row.possible_low, row.possible_high
        if row.frequency is None or low is None or high is None:
            continue
        share = f"{percent(row.frequency, decimals)}%"
        interval = f"{percent(low, decimals)} to {percent(high, decimals)}"
        bars.append(
            Bar(
                label=row.value,
                share=row.frequency,
                low=low,
                high=high,
                marked=bool(row.significant),
                text=share,
                interval=interval,
                hint=f"{row.value}: {share}, interval {interval}",
                second=row.post_processed,
            )
        )
    return bar_chart(bars, "%")


def values_label(chart: BarChart | None) -> str:
    """Return the words of the bars: the first few, and where the others are."""
    if chart is None or not chart.bars:
        return "No bars"
    first = "; ".join(drawn.bar.hint for drawn in chart.bars[:_SUMMED_UP])
    return f"Bars of {plural(len(chart.bars), 'value')}. {first}. All numbers are in the table."


def panels(page: MetricPage, decimals: int) -> tuple[Panel, ...]:
    """Return a panel for each followed value; none where no day may or can be shown."""
    if page.trend is None or all(row.frequency is None for row in page.trend_rows):
        return ()
    return tuple(panel(page.trend, rows, decimals) for rows in _by_value(page))


def trend_table(page: MetricPage) -> list[tuple[TrendRow, ...]]:
    """Return for each point the rows of all followed values."""
    return list(zip(*_by_value(page), strict=True))


def _by_value(page: MetricPage) -> list[tuple[TrendRow, ...]]:
    size = len(page.trend.points) if page.trend else 1
    rows = page.trend_rows
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def changes(page: MetricPage) -> tuple[ChangeRow, ...]:
    """Return the surest changes, as many as the view has bars, the largest rise first."""
    rows = (page.comparison.rows if page.comparison else None) or ()
    surest = sorted(rows, key=lambda row: row.p_value)[: page.view.top]
    return tuple(sorted(surest, key=lambda row: -row.difference))


def changes_chart(rows: Sequence[ChangeRow]) -> BarChart:
    """Return the bars of some changes, in percentage points."""
    decimals = decimals_for([row.std_error for row in rows])
    bars = []
    for row in rows:
        change = signed(row.difference, decimals)
        interval = f"{signed(row.low, decimals)} to {signed(row.high, decimals)}"
        bars.append(
            Bar(
                label=row.value,
                share=row.difference,
                low=row.low,
                high=row.high,
                marked=row.significant,
                text=change,
                interval=interval,
                hint=f"{row.value}: {change} points, interval {interval}",
            )
        )
    return bar_chart(bars, "")
