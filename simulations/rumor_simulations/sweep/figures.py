"""One figure a sweep: axes with units, error bars of two standard errors over runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from rumor_simulations.plotting import COLOURS, MARKERS, curve, figure, legend
from rumor_simulations.sweep.experiments import Row
from rumor_simulations.sweep.setting import MECHANISMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RMSE = "root mean square error of a share (percentage points)"
# Mean, and two standard errors of it.
Point = tuple[float, float, float]
Value = Callable[[Row], float]


def draw(experiment: str, rows: Sequence[Row], folder: Path) -> None:
    """Draw the figure of one experiment as `folder`/`experiment`.png and .svg."""
    FIGURES[experiment](experiment, rows, folder)


def points(rows: Sequence[Row], x: str, value: Value) -> list[Point]:
    """Return x, mean and two standard errors for each x, ascending."""
    groups: dict[float, list[float]] = {}
    for row in rows:
        groups.setdefault(float(row[x]), []).append(value(row))
    return [(at, fmean(found), _two_errors(found)) for at, found in sorted(groups.items())]


def _two_errors(found: list[float]) -> float:
    return 2 * stdev(found) / math.sqrt(len(found)) if len(found) > 1 else 0.0


def _of(rows: Sequence[Row], mechanism: str) -> list[Row]:
    return [row for row in rows if row["mechanism"] == mechanism]


def _curves(axes: Axes, rows: Sequence[Row], x: str, value: Value) -> None:
    for number, mechanism in enumerate(MECHANISMS):
        of_mechanism = _of(rows, mechanism)
        if of_mechanism:
            at, mean, error = zip(*points(of_mechanism, x, value), strict=True)
            curve(axes, number, mechanism, at, mean, error)


def _percent(column: str) -> Value:
    return lambda row: 100 * float(row[column])


def _setting(rows: Sequence[Row], *columns: str) -> str:
    names = {"n": "n = {:,}", "k": "k = {}", "epsilon": "ε = {:g}", "population": "{}"}
    return ", ".join(names[column].format(rows[0][column]) for column in columns)


def _error(x: str, label: str, *fixed: str) -> Callable[[str, Sequence[Row], Path], None]:
    def drawn(name: str, rows: Sequence[Row], folder: Path) -> None:
        with figure(folder, name) as (_, (axes,)):
            _curves(axes, rows, x, _percent("rmse"))
            if x != "epsilon":
                axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel(label)
            axes.set_ylabel(RMSE)
            axes.set_title(_setting(rows, "population", *fixed))
            legend(axes)

    return drawn


def _detection(name: str, rows: Sequence[Row], folder: Path) -> None:
    with figure(folder, name, columns=2) as (_, (left, right)):
        _curves(left, rows, "n", lambda row: 100 * row["top_right"] / row["top"])
        left.set_ylabel("ten largest estimates that are the ten commonest (%)")
        _curves(right, rows, "n", lambda row: 100 * row["top_found"] / row["top"])
        right.set_ylabel("ten commonest found at 5%, Bonferroni (%)")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_ylim(-3, 103)
            axes.set_xlabel("devices")
            axes.set_title(_setting(rows, "population", "k", "epsilon"))
        legend(right)


def _coverage(name: str, rows: Sequence[Row], folder: Path) -> None:
    shown = [m for m in MECHANISMS if _of(rows, m)]
    epsilons = sorted({row["epsilon"] for row in rows})
    with figure(folder, name) as (_, (axes,)):
        for number, epsilon in enumerate(epsilons):
            for place, mechanism in enumerate(shown):
                found = [r for r in _of(rows, mechanism) if r["epsilon"] == epsilon]
                rates = [100 * r["hold"] / r["intervals"] for r in found]
                axes.errorbar(
                    place + 0.2 * (number - (len(epsilons) - 1) / 2),
                    fmean(rates),
                    _two_errors(rates),
                    color=COLOURS[number],
                    marker=MARKERS[number],
                    linestyle="none",
                    label=f"ε = {epsilon:g}" if not place else None,
                )
        axes.axhline(95, color="black", linewidth=0.8, linestyle="--")
        axes.set_xticks(range(len(shown)), shown, rotation=45, ha="right")
        axes.set_ylabel("95% intervals that hold the truth (%)")
        axes.set_title(_setting(rows, "population", "n", "k"))
        legend(axes)


def _drift(name: str, rows: Sequence[Row], folder: Path) -> None:
    kinds = sorted({(row["mechanism"], row["max_values"]) for row in rows})
    with figure(folder, name) as (_, (axes,)):
        truth = points(rows, "day", _percent("share"))
        axes.plot([d for d, *_ in truth], [s for _, s, _ in truth], color="black", label="truth")
        for number, (mechanism, kept) in enumerate(kinds, start=1):
            of_kind = [r for r in _of(rows, mechanism) if r["max_values"] == kept]
            at, mean, error = zip(*points(of_kind, "day", _percent("estimate")), strict=True)
            label = f"{mechanism}, max_values = {kept}" if kept else f"{mechanism}, fresh noise"
            curve(axes, number, label, at, mean, error)
        axes.set_xlabel("day")
        axes.set_ylabel("share of the value that devices move to (%)")
        axes.set_title(_setting(rows, "population", "n", "epsilon"))
        legend(axes)


def _opt_in(name: str, rows: Sequence[Row], folder: Path) -> None:
    with figure(folder, name) as (_, (axes,)):
        for number, mechanism in enumerate(m for m in MECHANISMS if _of(rows, m)):
            of_mechanism = _of(rows, mechanism)
            bias = points(of_mechanism, "tilt", lambda r: 100 * (r["estimate"] - r["share"]))
            at, mean, error = zip(*bias, strict=True)
            curve(axes, number, mechanism, [100 * x for x in at], mean, error)
        stated = fmean(200 * row["std_error"] for row in rows)
        axes.axhspan(-stated, stated, color="0.85", label="two stated standard errors")
        axes.set_xlabel("how much likelier those with the commonest value agree (%)")
        axes.set_ylabel("estimate less share of everyone (percentage points)")
        axes.set_title(_setting(rows, "population", "n", "k", "epsilon"))
        legend(axes)


def _frontier(name: str, rows: Sequence[Row], folder: Path) -> None:
    with figure(folder, name) as (_, (axes,)):
        for number, mechanism in enumerate(MECHANISMS):
            of_mechanism = _of(rows, mechanism)
            if not of_mechanism:
                continue
            guessed = points(of_mechanism, "epsilon", _percent("guessed"))
            errors = points(of_mechanism, "epsilon", _percent("rmse"))
            x, y, bar = (
                [g for _, g, _ in guessed],
                [e for _, e, _ in errors],
                [b for *_, b in errors],
            )
            curve(axes, number, mechanism, x, y, bar)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("values guessed from one report (%)")
        axes.set_ylabel(RMSE)
        axes.set_title(_setting(rows, "population", "n", "k"))
        legend(axes)


def _side_by_side(name: str, rows: Sequence[Row], folder: Path) -> None:
    with figure(folder, name) as (_, (axes,)):
        _curves(axes, rows, "epsilon", lambda row: row["rmse"] / _optimum(row))
        axes.axhline(1, color="black", linewidth=0.8, linestyle="--")
        axes.set_yscale("log")
        axes.set_xlabel("ε of one report")
        axes.set_ylabel("error over the best possible for many values")
        axes.set_title(_setting(rows, "population", "n", "k"))
        legend(axes)


def _optimum(row: Row) -> float:
    """Return sqrt(4 e^eps / (n (e^eps - 1)^2)): what no mechanism beats where k is large."""
    ratio = math.exp(row["epsilon"])
    return math.sqrt(4 * ratio / row["n"]) / (ratio - 1)


FIGURES: dict[str, Callable[[str, Sequence[Row], Path], None]] = {
    "epsilon": _error("epsilon", "ε of one report", "n", "k"),
    "devices": _error("n", "devices", "k", "epsilon"),
    "values": _error("k", "values in the domain", "n", "epsilon"),
    "detection": _detection,
    "coverage": _coverage,
    "drift": _drift,
    "opt_in": _opt_in,
    "frontier": _frontier,
    "mechanisms": _side_by_side,
}
