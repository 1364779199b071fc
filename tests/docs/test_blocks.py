"""What the documentation tells its readers to type works, as it stands there."""

from pathlib import Path

import pytest
from tests.docs.blocks import HOUSE, Block, Reader, blocks, commands

PAGES = (
    "README.md",
    "docs/choosing.md",
    "docs/quickstart-analyst.md",
    "docs/quickstart-app.md",
    "docs/quickstart-operator.md",
    "docs/simulations.md",
    "docs/tools.md",
    "docs/zh/quickstart.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    """Every block of the page runs, in its order, in an empty folder."""
    with Reader(tmp_path) as reader:
        reader.follow(HOUSE / page)
    assert reader.commands


def test_translation_tells_the_same_commands() -> None:
    """README.zh.md has the blocks of README.md, which are run, in their order but for comments."""

    def bare(page: str) -> list[list[str]]:
        return [
            [line.partition("#")[0].rstrip() for line in block.text.splitlines()]
            for block in blocks(HOUSE / page)
        ]

    assert bare("README.zh.md") == bare("README.md")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", "false"),
        ("bash", "pip install somethingelse"),
        ("bash", "pip install 'rumor[nosuchextra]'"),
        ("bash", "make nosuchtarget"),
        ("python", "assert False"),
        ("toml", "[metrics.m]\nepsilon = 1"),
        ("toml", "= 1"),
        ("sh", "true"),
        ("", "true"),
    ],
)
def test_wrong_block_fails(language: str, text: str, tmp_path: Path) -> None:
    """A block that doesn't work, or that nobody would run, fails its page."""
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```{language}\n{text}\n```\n", "utf-8")
    with pytest.raises(Exception, match=r"."), Reader(tmp_path) as reader:
        reader.follow(page)


def test_comments_are_no_commands() -> None:
    """Comments and empty lines of a block are passed over."""
    block = Block("bash", "# first\n\nrumor serve   # stays\n", None, 1)
    assert list(commands(block)) == ["rumor serve"]


WITH_KEYS = """
```bash
rumor init --keys > shown
rumor serve --settings rumor.toml
python app.py | grep "theme: recorded"
RUMOR_KEY=$(sed -n 's/^analyst key.*: //p' shown) rumor query theme | grep "1 report "
! rumor query theme 2> refused
grep 401 refused
```
"""


def test_keys_from_nothing_to_an_estimate(tmp_path: Path) -> None:
    """With the keys of `rumor init --keys` an app reports and an analyst reads; none reads without.

    No page shows this, since a page can't show the key.
    """
    page = tmp_path / "keys.md"
    page.write_text(WITH_KEYS, "utf-8")
    with Reader(tmp_path) as reader:
        reader.follow(page)
