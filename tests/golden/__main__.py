"""Keep what this installation does: `python -m tests.golden --write`.

--write     the golden files; what was kept before is overwritten: read the diff
--draw      the reports that the golden world counts, drawn anew by the client
--version   the stored databases and the wire, once a released version, never again
"""

import argparse
import tempfile
from pathlib import Path

from tests.golden import recording, stored, world


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    for name in ("write", "draw", "version"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    if asked.draw:
        world.draw()
    with tempfile.TemporaryDirectory() as folder:
        if asked.write:
            for name, text in recording.record(Path(folder)).items():
                path = world.GOLDEN / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        if asked.version:
            stored.write(Path(folder))


if __name__ == "__main__":
    main()
