"""Explanations beside what the code enumerates: neither may lack the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a Markdown table's lines."""
    titles = list(head)
    lines = [_row(titles), _row("---" for _ in titles)]
    lines += [_row(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [*lines, ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
