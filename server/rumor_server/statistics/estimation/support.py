"""How likely a report supports a value: p where the device has it, q where it has another."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rumor_shared.mechanism import Mechanism, mechanism_module


def support(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """Return (p, q): the mechanism's own, unless its server module says what a report supports."""
    module = mechanism_module("rumor_server.statistics", mechanism.name)
    own: Any = mechanism
    p, q = module.support(own) if hasattr(module, "support") else (own.p, own.q)
    return p, q


def is_pure(mechanism: Mechanism) -> bool:
    """Return whether each report adds to every estimate on its own, with no regression between.

    So it is over a closed domain, unless the server module has cells that are told apart by one.
    """
    module = mechanism_module("rumor_server.statistics", mechanism.name)
    return mechanism.values is not None and not hasattr(module, "free_cells")
