"""Record all subjects of the golden files, each file's text by its path."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import plain, subjects
from tests.golden.world import GOLDEN


def record(folder: Path) -> dict[str, str]:
    """Return what this installation does in the golden world, a text for each golden file."""
    return dict(_files(folder))


def kept() -> dict[str, str]:
    """Return the golden files as they are kept."""
    inputs = {"README.md", "metrics.toml", "reports.json"}
    return {
        str(path.relative_to(GOLDEN)): path.read_text("utf-8")
        for path in sorted(GOLDEN.rglob("*"))
        if path.is_file() and path.name not in inputs
    }


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    with subjects.filled(folder) as running:
        yield _json("routes", subjects.routes(running))
        yield _json("openapi", subjects.openapi(running))
        pages = subjects.pages(running)
        for name in [name for name in pages if name.endswith(".html")]:
            yield f"pages/{name}", pages.pop(name)
        yield _json("pages", pages)
        yield _json("commands", subjects.commands(running, folder))
        yield _json("metrics", subjects.metrics(running))
    yield _json("tallies", subjects.tallies(folder))
    yield _json("access", subjects.access(folder))
    yield _json("help", subjects.help_texts(folder))
    yield _json("schema", subjects.schema(folder))
    yield _json("public", subjects.public(folder))


def _json(name: str, found: Any) -> tuple[str, str]:
    return f"{name}.json", plain.compact(found)
