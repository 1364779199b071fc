"""`python -m benchmarks`: measure, print a table, write JSON and a page."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import measures
from benchmarks.page import cells, page
from benchmarks.peers import PINS, PeerUnavailable, peers_python
from rumor_shared.version import __version__

# A ratio means nothing without the versions of what it was measured on.
_OURS = ("numpy", "scipy", "mmh3", "bitarray", "fastapi", "uvicorn")
# Ours and theirs get one thread each, and ldp-toolbox, which shares its work out by joblib, one
# process; it counts because nothing has loaded numpy yet.
_THREADS = {"OPENBLAS_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    only: Annotated[
        list[str] | None, typer.Option(help="Measure this subject alone; may be given again.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The JSON file to write.")] = Path("bench.json"),
    write: Annotated[
        Path | None, typer.Option(help="The page to write, after a run of all subjects.")
    ] = None,
) -> None:
    """Measure each subject beside its peer; print a table, write JSON and a page."""
    os.environ.update(_THREADS)
    known = [module.name for module in pkgutil.iter_modules(measures.__path__)]
    for subject in only or ():
        if subject not in known:
            raise typer.BadParameter(f"no subject {subject!r}; there are {', '.join(known)}")
    console = Console(stderr=True)
    _prepare_peers(console)
    subjects = {}
    for subject in only or known:
        with console.status(f"measuring {subject}"):
            module = importlib.import_module(f"{measures.__name__}.{subject}")
            rows = [row.as_json() for row in module.measure()]
        subjects[subject] = {"what": module.__doc__, "rows": rows}
        if rows:
            Console().print(_table(subject, rows))
    document = _document(subjects)
    output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    console.print(f"written to {output}")
    if write is None:
        return
    if only:
        console.print(f"{write} is left as it is: it is written when all subjects are measured")
        return
    write.write_text(page(document), "utf-8")
    console.print(f"written to {write}")


def _prepare_peers(console: Console) -> None:
    with console.status("making the peers' environment, once: minutes"):
        try:
            peers_python()
        except PeerUnavailable as error:
            console.print(str(error), markup=False)


def _document(subjects: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rumor": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "environment": _THREADS,
        "versions": {name: version(name) for name in _OURS},
        "peers": PINS,
        "subjects": subjects,
    }


def _table(subject: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=subject, title_justify="left")
    for heading in ("what", "ours", "unit", "beside", "theirs", "ratio", "aim"):
        right = heading in ("ours", "theirs", "ratio", "aim")
        table.add_column(heading, justify="right" if right else "left")
    for row in rows:
        table.add_row(*(cell.replace("*", "") for cell in cells(row)))
    return table


if __name__ == "__main__":
    sys.exit(app())
