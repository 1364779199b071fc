"""Explanations of what the code enumerates: neither may lack the other.

An enumeration's members and a dataclass's fields carry theirs as docstrings below them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import pairwise

NOTICE = (
    "<!-- Generated from the code by `python -m docs.generators`; change the code or the\n"
    "     explanations in docs/generators instead. -->"
)


class Unexplained(Exception):
    """`missing` have no explanation; `left_over` explain what the code no longer has."""

    def __init__(self, where: str, missing: Iterable[str], left_over: Iterable[str]) -> None:
        self.missing = sorted(missing)
        self.left_over = sorted(left_over)
        super().__init__(
            f"{where}: explain {', '.join(self.missing) or 'nothing'}; "
            f"remove {', '.join(self.left_over) or 'nothing'}"
        )


def check_explained(where: str, found: Iterable[str], explanations: Mapping[str, str]) -> None:
    """Raise Unexplained unless exactly what was found is explained."""
    names = set(found)
    if names != set(explanations):
        raise Unexplained(where, names - set(explanations), set(explanations) - names)


def meanings_of(kind: type) -> dict[str, str]:
    """Return the docstring below each member of an enumeration, or below each field of a class.

    Members go by their value, fields by their name; what has no docstring is left out.
    """
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - what the source of a class is
    found = {}
    for declared, below in pairwise(definition.body):
        match declared, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                key = getattr(kind, name).value if issubclass(kind, Enum) else name
                found[key] = " ".join(text.split())
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a Markdown table's lines."""
    titles = list(head)
    lines = [_row(titles), _row("---" for _ in titles)]
    lines += [_row(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [*lines, ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
