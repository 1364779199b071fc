"""Links between pages, to files and to headings lead somewhere."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import HOUSE

PAGES = sorted(
    [*HOUSE.glob("*.md"), *(HOUSE / "docs").rglob("*.md")], key=lambda page: page.as_posix()
)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> list[str]:
    """Return where a page's links lead, those inside code left out."""
    return _LINK.findall(_FENCE.sub("", page.read_text("utf-8")))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the built pages name them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text("utf-8")))
    return {
        re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HOUSE).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file that is there, and a heading that the file has."""
    wrong = []
    for link in links(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_links_are_found() -> None:
    """The search for links sees those of README, pictures included."""
    found = links(HOUSE / "README.md")
    assert "docs/index.md" in found
    assert "docs/pictures/dashboard.png" in found


def test_every_page_is_in_the_table_of_contents() -> None:
    """Each page of `docs` is listed by a page above it, or nobody would find it."""
    listed = "\n".join((HOUSE / "docs" / name).read_text("utf-8") for name in ("index.md",))
    for page in PAGES:
        if "docs" in page.relative_to(HOUSE).parts and page.parent.name != "decisions":
            name = page.relative_to(HOUSE / "docs").with_suffix("").as_posix()
            assert name == "index" or f"\n{name}\n" in listed, f"{name}: not in docs/index.md"
