"""Candidates that match nothing by the way they are written are told, by their place (N-25)."""

from pathlib import Path

import pytest
from tests.harness.collector import Collector
from tests.harness.filled_collector import PAGES

from rumor_server.cli.query import read_candidates
from rumor_server.queries.candidate_lists import OddCandidate, odd_candidates
from rumor_shared.text import oddity_of


@pytest.mark.parametrize(
    "text",
    [
        *("news ", " news", "\tnews", "\xa0news", '"news"', "'news'", "`news`"),
        *("\u201cnews\u201d", '"news",', "news,", "news;", "ne\u200bws", "ne\x00ws", "\ufeffnews"),
    ],
)
def test_sees_what_is_seldom_meant(text: str) -> None:
    """Blanks at an end, quotes around, what separates values, characters that nobody sees."""
    assert oddity_of(text) is not None


@pytest.mark.parametrize(
    "text",
    ["news", "n", '"', "it's", 'the "news"', "a b", "a, b", "https://x.org/?a='b'", "é", "日本"],
)
def test_leaves_ordinary_texts_alone(text: str) -> None:
    """Quotes and commas within a text are its own."""
    assert oddity_of(text) is None


def test_gives_the_place() -> None:
    """The first twenty are told, by their number in the list."""
    assert odd_candidates(["a", "b ", "c"]) == (OddCandidate(2, "has blanks at an end"),)
    assert len(odd_candidates([f" {i}" for i in range(100)])) == 20


def test_a_command_gives_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`rumor query` names the line of the file, and looks for it all the same."""
    file = tmp_path / "candidates.txt"
    file.write_text('news\n\nshop \n"help"\n', "utf-8")
    assert read_candidates(file) == ["news", "shop ", '"help"']
    err = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[2].split()[1] for line in err] == ["3", "4"]


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ([f'"{page}"' for page in PAGES], "nothing_matches"),
        ([f"{page} " for page in PAGES], "nothing_matches"),
        (PAGES[:2], "values_missing"),
        (PAGES, "within_noise"),
    ],
)
def test_explains_what_is_not_explained(running: Collector, written: list[str], means: str) -> None:
    """A share near or above 100% says that nothing matches; JSON says why, the page in words."""
    path = "/v1/metrics/page/estimates"
    found = running.client.post(path, json={"candidates": written}).json()
    assert found["unexplained_means"] == means
    assert len(found["odd_candidates"]) == (len(written) if means == "nothing_matches" else 0)
    sent = running.client.post(
        "/metric/page/candidates", data={"texts": "\n".join(written)}, follow_redirects=True
    ).text
    if written[0].startswith('"'):
        assert "Candidate 1 of the list is in quotes" in sent
        assert "Are they spelt as devices record them?" in sent
