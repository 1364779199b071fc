"""Write every picture as SVG: `python -m docs_figures FOLDER`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docs_figures import days, many_reports, mechanisms, one_report
from rumor_simulations.plotting import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES: dict[str, Callable[[Axes], None]] = {
    "days": days.draw,
    "many-reports": many_reports.draw,
    "mechanisms": mechanisms.draw,
    "one-report": one_report.draw,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write all pictures, or those that are named, into a folder."""
    parser = argparse.ArgumentParser(prog="python -m docs_figures")
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PICTURES)}; all if none is given")
    given = parser.parse_args(argv)
    unknown = set(given.names) - set(PICTURES)
    if unknown:
        parser.error(f"names: choose of {', '.join(PICTURES)}")
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in given.names or PICTURES:
        # A figure is written as PNG too, which no page shows.
        with tempfile.TemporaryDirectory() as aside:
            with figure(Path(aside), name) as (_, (axes,)):
                PICTURES[name](axes)
            text = (Path(aside) / f"{name}.svg").read_text("utf-8")
        # Matplotlib ends lines with blanks, which editors and hooks would change.
        clean = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
        (given.folder / f"{name}.svg").write_text(clean, "utf-8")
        print(given.folder / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
