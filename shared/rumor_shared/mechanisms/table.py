"""The table of mechanisms: which class of parameters a name of the registry stands for.

Every room has such a table of the same names. Its imports are written out, so that tools which
freeze an app can follow them, and stand in functions, so that an app loads what its registry names.
A name that isn't here is looked for among installed packages (`rumor_shared.mechanisms.packages`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from rumor_shared.errors import IncompleteMechanism
from rumor_shared.fields import Fields
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms import packages


def _binary() -> type[Mechanism]:
    from rumor_shared.mechanisms.binary import Binary

    return Binary


def _cms() -> type[Mechanism]:
    from rumor_shared.mechanisms.cms import CountMeanSketch

    return CountMeanSketch


def _hadamard() -> type[Mechanism]:
    from rumor_shared.mechanisms.hadamard import Hadamard

    return Hadamard


def _krr() -> type[Mechanism]:
    from rumor_shared.mechanisms.krr import Krr

    return Krr


def _local_hashing() -> type[Mechanism]:
    from rumor_shared.mechanisms.local_hashing import LocalHashing

    return LocalHashing


def _pgr() -> type[Mechanism]:
    from rumor_shared.mechanisms.pgr import Pgr

    return Pgr


def _rappor() -> type[Mechanism]:
    from rumor_shared.mechanisms.rappor import Rappor

    return Rappor


def _subset() -> type[Mechanism]:
    from rumor_shared.mechanisms.subset import Subset

    return Subset


def _unary() -> type[Mechanism]:
    from rumor_shared.mechanisms.unary import Unary

    return Unary


BUILT_IN: Mapping[str, Callable[[], type[Mechanism]]] = {
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
def mechanism_class(name: str) -> type[Mechanism]:
    """Return the class of a mechanism's parameters.

    Raises UnknownMechanism, and IncompleteMechanism for a package that returns something else.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    found = packages.package(name).parameters()
    if not (isinstance(found, type) and issubclass(found, Mechanism)):
        raise IncompleteMechanism(name, "parameters", "rumor_shared.mechanism.Mechanism")
    return found


def installed_names() -> tuple[str, ...]:
    """Return the name of every mechanism, those of other packages last."""
    return (*BUILT_IN, *(name for name in packages.names() if name not in BUILT_IN))


def from_fields(name: str, fields: Fields) -> Mechanism:
    """Build the mechanism `name` from a metric's table. Raises UnknownMechanism, RegistryError."""
    return mechanism_class(name).from_fields(name, fields)
