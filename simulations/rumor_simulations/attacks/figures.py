"""One figure an attack: success with 95% bars, beside chance and beside what epsilon allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rumor_simulations.attacks.campaign import Poisoned
from rumor_simulations.attacks.outcome import Outcome
from rumor_simulations.attacks.poisoning import Poison
from rumor_simulations.plotting import COLOURS, MARKERS, figure, legend

ALLOWED = "most that ε allows"


def draw_people(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Draw a figure of each attack; return the paths without their suffixes."""
    drawn = []
    for attack in dict.fromkeys(o.attack for o in outcomes):
        chosen = [o for o in outcomes if o.attack == attack]
        path = folder / attack.replace(" ", "_").replace("-", "_")
        if len({o.x for o in chosen if o.metric == chosen[0].metric}) > 1:
            _curves(attack, chosen, path)
        else:
            _bars(attack, chosen, path)
        drawn.append(path)
    return drawn


def _curves(attack: str, outcomes: Sequence[Outcome], path: Path) -> None:
    with figure(path.parent, path.name) as (_, (axes,)):
        for number, metric in enumerate(dict.fromkeys(o.metric for o in outcomes)):
            chosen = [o for o in outcomes if o.metric == metric]
            colour = COLOURS[number % len(COLOURS)]
            axes.errorbar(
                [o.x for o in chosen],
                [100 * o.success for o in chosen],
                _bar(chosen),
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                label=metric,
            )
            allowed = [(o.x, 100 * o.allowed) for o in chosen if o.allowed is not None]
            if allowed:
                axes.plot(*zip(*allowed, strict=True), color=colour, linestyle=":", linewidth=1)
        axes.plot([], [], color="black", linestyle=":", label=ALLOWED)
        if outcomes[0].unit == "days":
            axes.set_xscale("log")
        axes.set_ylim(-3, 103)
        axes.set_xlabel(outcomes[0].unit)
        axes.set_ylabel("success of the attack (%)")
        axes.set_title(attack)
        legend(axes)


def _bars(attack: str, outcomes: Sequence[Outcome], path: Path) -> None:
    with figure(path.parent, path.name) as (_, (axes,)):
        places = range(len(outcomes))
        axes.bar(places, [100 * o.success for o in outcomes], yerr=_bar(outcomes), color=COLOURS[2])
        chance = [100 * o.chance for o in outcomes]
        axes.plot(places, chance, "_", color="black", markersize=18, label="chance")
        allowed = [(at, 100 * o.allowed) for at, o in enumerate(outcomes) if o.allowed is not None]
        if allowed:
            x, y = zip(*allowed, strict=True)
            axes.plot(x, y, "_", color=COLOURS[5], markersize=18, label=ALLOWED)
        names = [f"{o.metric}" for o in outcomes]
        axes.set_xticks(places, names, rotation=45, ha="right")
        axes.set_ylim(0, 103)
        axes.set_ylabel("success of the attack (%)")
        axes.set_title(attack)
        legend(axes)


def _bar(outcomes: Sequence[Outcome]) -> list[list[float]]:
    below = [100 * max(0.0, o.success - o.low) for o in outcomes]
    above = [100 * max(0.0, o.high - o.success) for o in outcomes]
    return [below, above]


def draw_poisoning(poisoned: Sequence[Poisoned], folder: Path) -> Path:
    """Draw the gains of fakes beside the formulas; return the path without its suffix."""
    path = folder / "poisoning"
    with figure(folder, path.name) as (_, (axes,)):
        metrics = list(dict.fromkeys(p.metric for p in poisoned))
        for number, poison in enumerate(Poison):
            chosen = [p for p in poisoned if p.gain.poison is poison]
            places = [metrics.index(p.metric) + 0.18 * (number - 1.5) for p in chosen]
            axes.errorbar(
                places,
                [100 * p.gain.gain for p in chosen],
                [200 * p.gain.std_error for p in chosen],
                color=COLOURS[number],
                marker=MARKERS[number],
                linestyle="none",
                label=str(poison),
            )
            axes.plot(
                places, [100 * p.gain.predicted for p in chosen], "_", color="black", markersize=10
            )
        axes.plot([], [], "_", color="black", markersize=10, label="formula")
        axes.set_xticks(range(len(metrics)), metrics, rotation=45, ha="right")
        axes.set_ylabel("rise of the targets' shares (percentage points)")
        axes.set_title("5% of fake devices")
        legend(axes)
    return path
