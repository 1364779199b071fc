"""One report: the laws of two devices that hold different values, side by side."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from docs_figures.theme import THEME
from rumor_shared.epsilon import MICRO
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric
from rumor_simulations.plotting import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HELD = ("dark", "light")


def law(metric: Metric, held: str) -> dict[str, float]:
    """Return the probability of each answer from a device that holds `held`, under krr."""
    mechanism = Krr.of(metric.mechanism)
    p, q = float(mechanism.p), float(mechanism.q)
    return {value: p if value == held else q for value in mechanism.values}


def draw(axes: Axes) -> None:
    """Draw both laws, and the most that one report can shift the odds between them."""
    width = 0.38
    for i, held in enumerate(HELD):
        shares = law(THEME, held)
        places = [at + (i - 0.5) * width for at in range(len(shares))]
        bars = axes.bar(
            places, list(shares.values()), width, label=f"device holds {held}", color=COLOURS[i + 1]
        )
        axes.bar_label(bars, fmt="{:.1%}", fontsize=7)
    epsilon = THEME.mechanism.epsilon_report / MICRO
    axes.set_xticks(range(len(shares)), list(shares))
    axes.set_xlabel("what the report says")
    axes.set_ylabel("probability")
    axes.set_ylim(0, 0.6)
    axes.set_title(
        f"One report, epsilon {epsilon:g}: no answer is more than {exp(epsilon):.2f} times\n"
        "as probable from one device as from the other",
        fontsize=9,
    )
    axes.legend()
