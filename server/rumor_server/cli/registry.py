"""`rumor registry`: check a registry file, and list the mechanisms that one may name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.clock import system_day
from rumor_shared.epsilon import MICRO, format_micro
from rumor_shared.errors import RegistryError
from rumor_shared.mechanisms.table import installed_names, mechanism_class
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry, load_registry

_HEAD = ("metric", "rev.", "mechanism", "epsilon a report", "a day", "for life", "expires")

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The registry file.")], as_json: AsJson = False
) -> None:
    """Print each metric with its real epsilon, or everything that is wrong."""
    try:
        registry = load_registry(file)
    except (RegistryError, OSError) as error:
        raise fail("registry", error) from None
    print_json(_facts(registry)) if as_json else _show(registry)
    if expired := registry.expired(system_day()):
        raise fail("registry", str(RegistryError(expired, str(file))))


def _show(registry: Registry) -> None:
    rows = [_HEAD, *map(_cells, registry.metrics.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    print()
    life = registry.lifetime_epsilon
    print(
        f"All metrics together: at most {format_micro(registry.daily_epsilon)} a day and "
        f"{'unbounded' if life is None else f'at most {format_micro(life)}'} for life; "
        f"reports are taken for {registry.max_age_days} days."
    )
    for warning in registry.warnings():
        print(f"warning: {warning}")
    for note in registry.notes():
        print(f"note: {note}")


def _facts(registry: Registry) -> dict[str, Any]:
    return {
        "sha256": registry.sha256,
        "metrics": [
            {
                "name": metric.name,
                "revision": metric.revision,
                "mechanism": metric.mechanism.name,
                "epsilon_report": metric.mechanism.epsilon_report / MICRO,
                "daily_epsilon": metric.daily_epsilon / MICRO,
                "lifetime_epsilon": _plain(_life(metric)),
                "expires": metric.expires,
            }
            for metric in registry.metrics.values()
        ],
        "daily_epsilon": registry.daily_epsilon / MICRO,
        "lifetime_epsilon": _plain(registry.lifetime_epsilon),
        "max_age_days": registry.max_age_days,
        "warnings": [str(warning) for warning in registry.warnings()],
        "notes": [str(note) for note in registry.notes()],
        "expired": [str(problem) for problem in registry.expired(system_day())],
    }


def _plain(micro: int | None) -> float | None:
    return None if micro is None else micro / MICRO


@app.command()
def mechanisms(as_json: AsJson = False) -> None:
    """Print the mechanisms that a metric may name."""
    listed: dict[str, list[str]] = {}
    for name in installed_names():
        listed.setdefault(mechanism_class(name).about(), []).append(name)
    if as_json:
        found = [{"names": names, "about": about} for about, names in listed.items()]
        print_json({"mechanisms": found})
        return
    for about, names in listed.items():
        print(f"{', '.join(names)}: {about}")


def _cells(metric: Metric) -> tuple[str, ...]:
    return (
        metric.name,
        str(metric.revision),
        metric.mechanism.name,
        format_micro(metric.mechanism.epsilon_report),
        format_micro(metric.daily_epsilon),
        "unbounded" if (life := _life(metric)) is None else format_micro(life),
        metric.expires.isoformat(),
    )


def _life(metric: Metric) -> int | None:
    """Return what a device can lose over its life, by its answers or its cap; None if unbounded."""
    mechanism = metric.mechanism
    bounds = [] if metric.lifetime_epsilon is None else [metric.lifetime_epsilon]
    if mechanism.epsilon_infinity is not None:
        bounds.append(mechanism.epsilon_infinity * mechanism.max_values)
    return min(bounds, default=None)


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "registry")
