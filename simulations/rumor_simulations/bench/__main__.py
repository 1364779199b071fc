"""`python -m rumor_simulations.bench`: measure, print a table, write JSON."""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rumor_shared.version import __version__
from rumor_simulations.bench import measures
from rumor_simulations.bench.row import Row

# Peers are named with their versions: a ratio means nothing without.
_PEERS = ("numpy", "mmh3", "bitarray")

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    subjects: Annotated[
        list[str] | None, typer.Argument(help="What to measure; everything by default.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The JSON file to write.")] = Path("bench.json"),
) -> None:
    """Measure each subject beside its peer, print a table and write JSON."""
    known = [module.name for module in pkgutil.iter_modules(measures.__path__)]
    chosen = subjects or known
    for subject in chosen:
        if subject not in known:
            raise typer.BadParameter(f"no subject {subject!r}; there are {', '.join(known)}")
    console = Console(stderr=True)
    rows: list[Row] = []
    for subject in chosen:
        with console.status(f"measuring {subject}"):
            module = importlib.import_module(f"{measures.__name__}.{subject}")
            rows += module.measure()
    Console().print(_table(rows))
    output.write_text(json.dumps(_document(rows), indent=2) + "\n", "utf-8")
    console.print(f"written to {output}")


def _document(rows: Sequence[Row]) -> dict[str, object]:
    return {
        "rumor": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in _PEERS},
        "measured": datetime.now(UTC).date().isoformat(),
        "rows": [row.as_json() for row in rows],
    }


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="Ours beside peer or floor; below 1 is faster", title_justify="left")
    table.add_column("what")
    for heading in ("ours", "unit"):
        table.add_column(heading, justify="right")
    table.add_column("peer or floor")
    for heading in ("peer's", "ratio"):
        table.add_column(heading, justify="right")
    for row in rows:
        peer = "" if row.peer_value is None else f"{row.peer_value:,.4g}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(row.name, f"{row.value:,.4g}", row.unit, row.peer or "", peer, ratio)
    return table


if __name__ == "__main__":
    sys.exit(app())
