"""The documentation builds without a warning, and its pages ask no other host for anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.blocks import HOUSE

# What a page loads by itself; a link that a reader follows may lead anywhere.
_LOADS = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["'](?:https?:)?//[^"']+"""
    r"""|url\(["']?(?:https?:)?//|@import"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "trees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(HOUSE / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        cwd=HOUSE,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_pages_are_built(site: Path) -> None:
    """Every page has its HTML, the translation too."""
    for page in (HOUSE / "docs").rglob("*.md"):
        name = page.relative_to(HOUSE / "docs").with_suffix(".html")
        assert (site / name).is_file()


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    """No page, style sheet or script of the site names another host to load from."""
    found = [
        f"{path.name}: {match[0]}"
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css"}
        for match in _LOADS.finditer(path.read_text("utf-8", "replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/a.js">',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        "background: url(https://example.org/a.png)",
    ],
)
def test_foreign_loads_are_seen(text: str) -> None:
    """The search finds what a theme might load."""
    assert _LOADS.search(text)
