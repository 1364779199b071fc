"""The table of perturbers: which class a name of the registry stands for on the device.

As `rumor_shared.mechanisms.table`: imports written out, in functions, so that freezers can follow
them and a device loads what it records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from rumor_client.perturbation.perturber import MemoisedPerturber, Perturber
from rumor_shared.errors import IncompleteMechanism
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms import packages
from rumor_shared.metric import Metric


def _binary() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.binary import BinaryPerturber

    return BinaryPerturber


def _cms() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.cms import CountMeanSketchPerturber

    return CountMeanSketchPerturber


def _hadamard() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.hadamard import HadamardPerturber

    return HadamardPerturber


def _krr() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.krr import KrrPerturber

    return KrrPerturber


def _local_hashing() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.local_hashing import LocalHashingPerturber

    return LocalHashingPerturber


def _pgr() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.pgr import PgrPerturber

    return PgrPerturber


def _rappor() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.rappor import RapporPerturber

    return RapporPerturber


def _subset() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.subset import SubsetPerturber

    return SubsetPerturber


def _unary() -> type[Perturber]:
    from rumor_client.perturbation.mechanisms.unary import UnaryPerturber

    return UnaryPerturber


BUILT_IN: Mapping[str, Callable[[], type[Perturber]]] = {
    "binary": _binary,
    "cms": _cms,
    "hcms": _cms,
    "hadamard": _hadamard,
    "krr": _krr,
    "local_hashing": _local_hashing,
    "pgr": _pgr,
    "rappor": _rappor,
    "basic_rappor": _rappor,
    "subset": _subset,
    "sue": _unary,
    "oue": _unary,
}


@cache
def perturber_class(name: str) -> type[Perturber]:
    """Return the class that perturbs by a mechanism.

    Raises UnknownMechanism, and IncompleteMechanism for a package that returns something else.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    found = packages.package(name).perturber()
    if not (isinstance(found, type) and issubclass(found, Perturber)):
        raise IncompleteMechanism(
            name, "perturber", "rumor_client.perturbation.perturber.Perturber"
        )
    return found


@cache
def _memoised_class(name: str) -> type[MemoisedPerturber]:
    found = perturber_class(name)
    if not issubclass(found, MemoisedPerturber):
        wanted = "rumor_client.perturbation.perturber.MemoisedPerturber"
        raise IncompleteMechanism(name, "perturber", wanted)
    return found


def load_perturber(mechanism: Mechanism) -> None:
    """Load what a mechanism is perturbed by. Raises IncompleteMechanism where it lacks a part."""
    if mechanism.memoised:
        _memoised_class(mechanism.name)
    else:
        perturber_class(mechanism.name)


def perturber(metric: Metric) -> Perturber:
    """Return what perturbs a metric's values."""
    return perturber_class(metric.mechanism.name)(metric)


def memoised_perturber(metric: Metric) -> MemoisedPerturber:
    """Return what answers a memoised metric's values. Raises IncompleteMechanism for another."""
    return _memoised_class(metric.mechanism.name)(metric)
