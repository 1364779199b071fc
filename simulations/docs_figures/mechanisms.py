"""Mechanisms: how exact each one is for a question with many values, from its own probabilities."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from rumor_server.planner import plan_options
from rumor_simulations.plotting import curve, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUES = 256
DEVICES = 100_000
EPSILONS = (0.5, 1, 2, 3, 4, 6, 8)


def deviations() -> dict[str, dict[float, float]]:
    """Return the standard deviation of a rare value's share, by mechanism and epsilon."""
    values = [f"value {i}" for i in range(VALUES)]
    found: dict[str, dict[float, float]] = {}
    for epsilon in EPSILONS:
        options, _ = plan_options(values, Decimal(str(epsilon)))
        for option in options:
            found.setdefault(option.name, {})[epsilon] = option.accuracy.deviation(DEVICES)
    return dict(sorted(found.items()))


def draw(axes: Axes) -> None:
    """Draw a curve a mechanism, on logarithmic errors."""
    for number, (name, errors) in enumerate(deviations().items()):
        curve(axes, number, name, list(errors), list(errors.values()))
    axes.set_yscale("log")
    axes.set_xlabel("epsilon of a report")
    axes.set_ylabel("standard deviation of a share")
    axes.yaxis.set_major_formatter("{x:.2%}")
    axes.set_title(f"{VALUES} values, {DEVICES:,} devices: lower is more exact", fontsize=9)
    legend(axes)
