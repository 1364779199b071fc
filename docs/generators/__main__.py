"""Write the reference pages: `python -m docs.generators`, from the root of the repository."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from docs.generators import (
    commands_page,
    figures_page,
    registry_page,
    routes_page,
    words_page,
)
from docs.generators.explained import Unexplained

FOLDER = Path(__file__).parents[1] / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page.page,
    "prometheus.md": figures_page.page,
    "registry.md": registry_page.page,
    "routes.md": routes_page.page,
    "words.md": words_page.page,
}


def main() -> int:
    """Write each page that changed; return 1 where something is unexplained."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        try:
            text = page()
        except Unexplained as error:
            print(f"docs/generators: {error}", file=sys.stderr)
            return 1
        file = FOLDER / name
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
