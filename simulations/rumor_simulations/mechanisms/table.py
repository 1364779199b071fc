"""The table of population models: which class a name of the registry stands for in simulations.

As `rumor_shared.mechanisms.table`, with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from rumor_shared.errors import IncompleteMechanism
from rumor_shared.mechanisms import packages
from rumor_shared.metric import Metric
from rumor_simulations.mechanisms.population_model import PopulationModel


def _binary() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.binary import BinaryModel

    return BinaryModel


def _cms() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.cms import CountMeanSketchModel

    return CountMeanSketchModel


def _hadamard() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.hadamard import HadamardModel

    return HadamardModel


def _krr() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.krr import KrrModel

    return KrrModel


def _local_hashing() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.local_hashing import LocalHashingModel

    return LocalHashingModel


def _pgr() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.pgr import PgrModel

    return PgrModel


def _rappor() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.rappor import RapporModel

    return RapporModel


def _subset() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.subset import SubsetModel

    return SubsetModel


def _unary() -> type[PopulationModel]:
    from rumor_simulations.mechanisms.unary import UnaryModel

    return UnaryModel


BUILT_IN: Mapping[str, Callable[[], type[PopulationModel]]] = {
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
def population_model_class(name: str) -> type[PopulationModel]:
    """Return the class that plays whole populations under a mechanism.

    Raises UnknownMechanism, and IncompleteMechanism for a package that returns something else.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    found = packages.package(name).population_model()
    if not (isinstance(found, type) and issubclass(found, PopulationModel)):
        raise IncompleteMechanism(
            name,
            "population_model",
            "rumor_simulations.mechanisms.population_model.PopulationModel",
        )
    return found


def population_model(metric: Metric) -> PopulationModel:
    """Return what plays whole populations of a metric."""
    return population_model_class(metric.mechanism.name)(metric)
