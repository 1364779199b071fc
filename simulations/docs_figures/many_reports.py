"""Many reports: the same question asked of more and more devices, truth beside estimate."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from docs_figures.theme import SHARES, THEME
from rumor_client.perturbation.mechanisms.table import perturber
from rumor_client.testing import seeded
from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric, tally_of
from rumor_server.statistics.tally import Tally
from rumor_simulations.plotting import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEVICES = (300, 3_000, 30_000)
SEED = 20261130


def estimate(devices: int, seed: int = SEED) -> Estimates:
    """Perturb the answers of so many devices with the client's code, and estimate with the
    server's.
    """
    held = random.Random(seed).choices(list(SHARES), list(SHARES.values()), k=devices)
    coins = seeded(seed)()
    payloads = [perturber(THEME).perturb(value, 0, coins) for value in held]
    tally = Tally(np.array([devices]), tally_of(THEME, payloads)[np.newaxis])
    return estimate_metric(THEME, tally)


def draw(axes: Axes) -> None:
    """Draw each value's truth as a line, and its estimates with 95% intervals as points."""
    for at, share in enumerate(SHARES.values()):
        # A label that begins with an underscore stays out of the legend.
        label = "truth" if at == 0 else "_truth"
        axes.hlines(share, at - 0.4, at + 0.4, colors="black", label=label)
    for i, devices in enumerate(DEVICES):
        found = estimate(devices)
        below, above = found.frequency - found.low, found.high - found.frequency
        axes.errorbar(
            [at + 0.22 * (i - 1) for at in range(len(SHARES))],
            found.frequency,
            yerr=[below.clip(0), above.clip(0)],
            fmt=MARKERS[i],
            color=COLOURS[i + 2],
            label=f"{devices:,} devices",
        )
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set_xticks(range(len(SHARES)), list(SHARES))
    axes.set_ylabel("share of devices")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_title(
        "Many reports, epsilon 1: estimates with 95% intervals close in on the truth", fontsize=9
    )
    axes.legend()
