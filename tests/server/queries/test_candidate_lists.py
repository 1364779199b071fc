"""Lists of candidates: one spelling, one address, and a bound on what is kept."""

import stat
from pathlib import Path

import pytest

from rumor_server.errors import BadRequest, NotFound
from rumor_server.queries.candidate_lists import (
    KEPT_LISTS,
    MAX_CANDIDATES,
    CandidateLists,
    parse_candidates,
)


@pytest.mark.parametrize(
    "body",
    [
        b"caf\xc3\xa9\nbar\n",
        b"\xef\xbb\xbfcafe\xcc\x81\r\n\r\n  bar\t\r\n",
        b"\ncaf\xc3\xa9\nbar\ncaf\xc3\xa9",
    ],
)
def test_reads_one_text_a_line(body: bytes) -> None:
    """A byte order mark, line ends, blanks, spelling and repetition make no other list."""
    candidates = parse_candidates(body)
    assert candidates.texts == ("café", "bar")
    assert candidates.sha256 == parse_candidates("café\nbar".encode()).sha256
    assert parse_candidates(candidates.body) == candidates


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "there are none"),
        (b"\n \n", "there are none"),
        (b"fine\nsecret\xff", "line 2"),
        (b"secret" * 1000, "line 1"),
        (b"\n".join(b"%d" % i for i in range(MAX_CANDIDATES + 1)), "100001, more than 100000"),
    ],
)
def test_names_the_line_that_is_wrong(body: bytes, words: str) -> None:
    """A list that can't be is refused by its line, which is not repeated."""
    with pytest.raises(BadRequest, match=words) as caught:
        parse_candidates(body)
    assert type(caught.value) is BadRequest
    assert "secret" not in caught.value.detail


def test_comes_back_after_a_restart(tmp_path: Path) -> None:
    """A list is kept under its hash, for its metric and its owner alone."""
    candidates = parse_candidates(b"a\nb")
    CandidateLists(tmp_path / "lists").keep("page", candidates)
    again = CandidateLists(tmp_path / "lists")
    assert again.get("page", candidates.sha256) == candidates
    assert [(kept.sha256, kept.texts) for kept in again.kept("page")] == [(candidates.sha256, 2)]
    assert again.kept("other") == []
    with pytest.raises(NotFound):
        again.get("other", candidates.sha256)
    (file,) = (tmp_path / "lists" / "page").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_keeps_the_latest(tmp_path: Path) -> None:
    """The oldest list goes first; one that is uploaded again counts as new."""
    lists = CandidateLists(tmp_path)
    bodies = [parse_candidates(b"%d" % i) for i in range(KEPT_LISTS + 1)]
    for candidates in (*bodies[:KEPT_LISTS], bodies[0], bodies[KEPT_LISTS]):
        lists.keep("page", candidates)
    kept = {one.sha256 for one in lists.kept("page")}
    assert len(kept) == KEPT_LISTS
    assert bodies[0].sha256 in kept
    assert bodies[1].sha256 not in kept
