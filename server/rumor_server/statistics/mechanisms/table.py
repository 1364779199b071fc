"""The table of estimators: which class a name of the registry stands for in the collector.

As `rumor_shared.mechanisms.table`, with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_shared.errors import IncompleteMechanism
from rumor_shared.mechanisms import packages
from rumor_shared.metric import Metric


def _binary() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.binary import BinaryEstimator

    return BinaryEstimator


def _cms() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.cms import CountMeanSketchEstimator

    return CountMeanSketchEstimator


def _hadamard() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.hadamard import HadamardEstimator

    return HadamardEstimator


def _krr() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.krr import KrrEstimator

    return KrrEstimator


def _local_hashing() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.local_hashing import LocalHashingEstimator

    return LocalHashingEstimator


def _pgr() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.pgr import PgrEstimator

    return PgrEstimator


def _rappor() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.rappor import RapporEstimator

    return RapporEstimator


def _subset() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.subset import SubsetEstimator

    return SubsetEstimator


def _unary() -> type[Estimator]:
    from rumor_server.statistics.mechanisms.unary import UnaryEstimator

    return UnaryEstimator


BUILT_IN: Mapping[str, Callable[[], type[Estimator]]] = {
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
def estimator_class(name: str) -> type[Estimator]:
    """Return the class that tallies and estimates a mechanism.

    Raises UnknownMechanism, and IncompleteMechanism for a package that returns something else.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    found = packages.package(name).estimator()
    if not (isinstance(found, type) and issubclass(found, Estimator)):
        raise IncompleteMechanism(
            name, "estimator", "rumor_server.statistics.mechanisms.estimator.Estimator"
        )
    return found


def estimator(metric: Metric) -> Estimator:
    """Return what tallies and estimates a metric."""
    return estimator_class(metric.mechanism.name)(metric)
