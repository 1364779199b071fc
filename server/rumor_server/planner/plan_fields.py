"""Write what was chosen into a registry that left it open: `mechanism = "auto"` becomes a name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from rumor_server.planner.recommendation import Plan, plan
from rumor_shared.epsilon import MICRO
from rumor_shared.errors import Problem, RegistryError
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_CELLS
from rumor_shared.registry import parse_registry

AUTO = "auto"


@dataclass(frozen=True)
class Choice:
    """What was chosen for one metric."""

    metric: str
    plan: Plan


def settle_registry(
    text: str, *, max_bytes: int | None = None, source: str = "registry"
) -> tuple[str, Sequence[Choice]]:
    """Return the registry's text with every "auto" replaced, and what was chosen.

    All else stays as it was written. The mechanism, and the parameters that a later version might
    choose differently, are written out, so that they are never chosen again in silence. Raises
    RegistryError where the file has faults, before or after; PlanError as `plan`.
    """
    try:
        # Read twice: numbers exactly, as a registry is read, and the text with all its comments.
        exact = tomllib.loads(text, parse_float=Decimal)
        document: Any = tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise RegistryError((Problem("TOML", str(error), "mend the syntax"),), source) from None
    choices = []
    for name, table in exact.get("metrics", {}).items():
        if isinstance(table, Mapping) and table.get("mechanism") == AUTO:
            made = _choose(Fields(table, f"metrics.{name}"), max_bytes)
            _write(document["metrics"][name], made)
            choices.append(Choice(name, made))
    settled = tomlkit.dumps(document)
    parse_registry(settled.encode(), source)
    return settled, choices


def _choose(fields: Fields, max_bytes: int | None) -> Plan:
    if not fields.has("values"):
        fields.problem(
            "values",
            'is missing, and "auto" is for closed domains',
            "list the values, or name a mechanism for any text: local_hashing or rappor",
        )
    epsilon = Decimal(fields.epsilon("epsilon")) / MICRO
    return plan(fields.texts("values", 2, MAX_CELLS), epsilon, max_bytes=max_bytes)


def _write(table: Any, made: Plan) -> None:
    name = tomlkit.item(made.chosen.name)
    name.comment(f"chosen by `rumor plan`: {made.reason}")
    table["mechanism"] = name
    for field, value in made.chosen.fields.items():
        table[field] = value
