"""Days: what all reports of a device cost together, with fresh noise and with a kept answer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from rumor_shared.epsilon import MICRO
from rumor_shared.registry import registry_of
from rumor_simulations.plotting import COLOURS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DAYS = 60
_ALIKE = {"revision": 1, "owner": "documentation", "purpose": "pictures", "expires": date.max}
REGISTRY = registry_of(
    {
        "metrics": {
            "fresh": {**_ALIKE, "mechanism": "krr", "epsilon": 1, "values": ["no", "yes"]},
            "kept": {
                **_ALIKE,
                "mechanism": "rappor",
                "bits": 128,
                "epsilon_infinity": Decimal(4),
                "epsilon_first_report": Decimal(1),
                "max_values": 2,
            },
        }
    }
)
_LABELS = {
    "fresh": "krr, fresh noise: 1 a report",
    "kept": "rappor, memoised: at most 4 a value, 2 values",
}


def costs(metric: str) -> list[float]:
    """Return the epsilon that is charged for one report a day, after 1 to DAYS days."""
    mechanism = REGISTRY.metric(metric).mechanism
    return [mechanism.epsilon_life(reports) / MICRO for reports in range(1, DAYS + 1)]


def draw(axes: Axes) -> None:
    """Draw both accounts over two months."""
    for i, (metric, label) in enumerate(_LABELS.items()):
        axes.step(
            range(1, DAYS + 1),
            costs(metric),
            where="post",
            color=COLOURS[5 - i],
            linestyle=DASHES[i],
            label=label,
        )
    axes.set_xlabel("days with one report each")
    axes.set_ylabel("epsilon charged so far")
    axes.set_title("What a life of reports costs", fontsize=9)
    axes.legend()
