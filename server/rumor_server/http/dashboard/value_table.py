"""The table of values: every row of the answer, in the order of the view, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_server.http.dashboard.view import Sort, View
from rumor_server.queries.cache import Measured
from rumor_server.queries.service import Status
from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.estimation import Estimates, norm_sub

# Some 40 KB of HTML: what a phone loads at once and a person still scrolls through.
PAGE_ROWS = 50


@dataclass(frozen=True)
class ValueRow:
    """One value. Numbers are shares of 1, and None without data or withheld."""

    value: str
    estimate: float | None
    frequency: float | None
    post_processed: float | None
    std_error: float | None
    low: float | None
    high: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None
    p_value: float | None
    significant: bool | None


@dataclass(frozen=True)
class ValueTable:
    """One page of rows. `matching` of `total` values hold the text that the view looks for."""

    rows: tuple[ValueRow, ...]
    total: int
    matching: int
    page: int
    pages: int


def value_table(measured: Measured, view: View) -> ValueTable:
    """Return the page of the view; a page beyond the last is the last."""
    order = _order(measured, view)
    pages = max(1, -(-len(order) // PAGE_ROWS))
    page = min(view.page, pages)
    shown = order[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    return ValueTable(
        _rows(measured, shown), len(measured.estimates.values), len(order), page, pages
    )


def all_rows(measured: Measured, view: View) -> tuple[ValueRow, ...]:
    """Return all rows that the view looks for, in its order."""
    return _rows(measured, _order(measured, view))


def top_rows(measured: Measured, many: int) -> tuple[ValueRow, ...]:
    """Return the rows with the highest estimates, the highest first."""
    return _rows(measured, _order(measured, View())[:many])


def post_process(estimates: Estimates) -> Floats:
    """Return the nearest shares that are shares: not below 0, and 1 together (Norm-Sub).

    What no candidate of an open domain explains takes part as a value of its own, so that a short
    list is not blown up to 1.
    """
    if estimates.unexplained is None:
        return norm_sub(estimates.frequency)
    rest = max(estimates.unexplained, 0.0)
    return norm_sub(np.append(estimates.frequency, rest))[:-1]


def _order(measured: Measured, view: View) -> list[int]:
    estimates = measured.estimates
    known = measured.status is Status.OK
    if view.sort.column == "value" or not known:
        order = list(range(len(estimates.values)))
        if view.sort.column == "value":
            order.sort(key=lambda i: estimates.values[i].casefold(), reverse=view.sort.down)
    else:
        keys = _column(estimates, view.sort)
        order = np.argsort(-keys if view.sort.down else keys, kind="stable").tolist()
    if view.find:
        wanted = view.find.casefold()
        order = [i for i in order if wanted in estimates.values[i].casefold()]
    return order


def _column(estimates: Estimates, sort: Sort) -> NDArray[np.float64]:
    if sort.column == "post_processed":
        return post_process(estimates)
    column: NDArray[np.float64] = getattr(estimates, sort.column)
    return column


def _rows(measured: Measured, order: list[int]) -> tuple[ValueRow, ...]:
    estimates = measured.estimates
    if measured.status is not Status.OK:
        return tuple(ValueRow(estimates.values[i], *[None] * 10) for i in order)
    chosen = np.array(order, dtype=np.intp)
    columns = [
        column[chosen].tolist()
        for column in (
            estimates.frequency * measured.n,
            estimates.frequency,
            post_process(estimates),
            estimates.std_error,
            estimates.low,
            estimates.high,
            estimates.simultaneous_low,
            estimates.simultaneous_high,
            estimates.p_value,
            estimates.significant,
        )
    ]
    return tuple(
        ValueRow(estimates.values[i], *numbers) for i, *numbers in zip(order, *columns, strict=True)
    )
