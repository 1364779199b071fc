"""How every figure of this room looks: on paper, on a screen, and to colour-blind eyes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Figures are files, and no window is ever opened, whatever a notebook's variable says: one that
# names a backend which isn't installed here would end the import of matplotlib.
os.environ["MPLBACKEND"] = "agg"

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): eight colours that common colour blindness keeps apart. A marker and a
# dash come with each, so that no curve is known by its colour alone.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
DASHES = ("-", "--", "-.", ":")

_STYLE: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
    "errorbar.capsize": 2,
    # The same rows give the same file.
    "svg.hashsalt": "rumor",
    "savefig.dpi": 200,
}


@contextmanager
def figure(folder: Path, name: str, columns: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure with `columns` axes side by side; at the end write it as PNG and SVG."""
    with plt.style.context(_STYLE):
        fig, axes = plt.subplots(1, columns, figsize=(1.6 + 4.6 * columns, 3.8), squeeze=False)
        try:
            yield fig, list(axes[0])
            for kind in ("png", "svg"):
                metadata = {"Date": None} if kind == "svg" else {}
                fig.savefig(folder / f"{name}.{kind}", metadata=metadata)
        finally:
            plt.close(fig)


def curve(
    axes: Axes,
    number: int,
    label: str,
    x: Sequence[float],
    y: Sequence[float],
    error: Sequence[float] | None = None,
) -> None:
    """Draw curve `number` with error bars of `error` on either side."""
    axes.errorbar(
        x,
        y,
        yerror(y, error),
        label=label,
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle=DASHES[number // len(COLOURS) % len(DASHES)],
    )


def yerror(y: Sequence[float], error: Sequence[float] | None) -> list[list[float]] | None:
    """Return bars that stay above zero, for axes that may be logarithmic."""
    if error is None:
        return None
    return [[min(e, 0.95 * v) if v > 0 else e for v, e in zip(y, error, strict=True)], [*error]]


def legend(axes: Axes) -> None:
    """Put the legend beside the axes, where it hides no point."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
