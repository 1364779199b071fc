"""What the package brings for each of rumor's rooms.

The entry point `rumor.mechanisms` names this module. Each function imports its room's part when it
is asked for, so that a device that records loads neither numpy nor the collector.
"""

from __future__ import annotations

# Type checkers take this name as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from uniform_mix.collector import UniformMixEstimator
    from uniform_mix.device import UniformMixPerturber
    from uniform_mix.parameters import UniformMix
    from uniform_mix.simulation import UniformMixModel


def parameters() -> type[UniformMix]:
    """Return what is read from a metric's table."""
    from uniform_mix.parameters import UniformMix

    return UniformMix


def perturber() -> type[UniformMixPerturber]:
    """Return what perturbs on the device."""
    from uniform_mix.device import UniformMixPerturber

    return UniformMixPerturber


def estimator() -> type[UniformMixEstimator]:
    """Return what the collector tallies and estimates by."""
    from uniform_mix.collector import UniformMixEstimator

    return UniformMixEstimator


def population_model() -> type[UniformMixModel]:
    """Return what audits and attacks know of it."""
    from uniform_mix.simulation import UniformMixModel

    return UniformMixModel
