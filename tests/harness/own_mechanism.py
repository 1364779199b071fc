"""Somebody else's mechanism: the package in examples/own_mechanism, installed for a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rumor_client.perturbation.mechanisms import table as device
from rumor_server.statistics.mechanisms import table as collector
from rumor_shared.mechanisms import packages
from rumor_shared.mechanisms import table as shared
from rumor_simulations.mechanisms import table as simulations

SOURCE = Path(__file__).parents[2] / "examples" / "own_mechanism"
NAME = "uniform_mix"

_CACHES = (
    packages._entry_points,
    packages.package,
    shared.mechanism_class,
    device.perturber_class,
    device._memoised_class,
    collector.estimator_class,
    simulations.population_model_class,
)


def paths(folder: Path, entry: str = "uniform_mix.parts") -> list[str]:
    """Return what `sys.path` needs for the package to be installed, as pip would have left it.

    `entry` is what its entry point names.
    """
    about = folder / "uniform_mix-1.dist-info"
    about.mkdir(parents=True)
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: uniform-mix\nVersion: 1\n")
    about.joinpath("entry_points.txt").write_text(f"[rumor.mechanisms]\n{NAME} = {entry}\n")
    return [str(folder), str(SOURCE)]


@contextmanager
def installed(folder: Path, entry: str = "uniform_mix.parts") -> Iterator[None]:
    """Install the package into this process for a while."""
    before = list(sys.path)
    sys.path[:0] = paths(folder, entry)
    _forget()
    try:
        yield
    finally:
        sys.path[:] = before
        _forget()


def _forget() -> None:
    for cache in _CACHES:
        cache.cache_clear()
