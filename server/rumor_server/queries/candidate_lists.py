"""Lists of candidates kept by their SHA-256, so that the address of a decode outlives a restart.

A list is what an analyst looks for, not what anyone answered. Equal texts make an equal address,
whoever uploads them and whenever, so a list that was dropped comes back under its old address.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from rumor_server.errors import BadRequest, NotFound
from rumor_shared.text import TextProblem, canonical_bytes, oddity_of

# The decoder takes as many within a minute.
MAX_CANDIDATES = 100_000
# Lists of one metric; with 8 MiB an upload they take 128 MiB of disk at most.
KEPT_LISTS = 16
_NAME = re.compile(r"([0-9a-f]{64})\.([0-9]+)\.txt")


@dataclass(frozen=True)
class CandidateList:
    """Texts in NFC, each once, in the order in which they were given."""

    texts: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the texts as UTF-8 lines, in hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def body(self) -> bytes:
        """The texts as UTF-8, each ended by a line feed."""
        return "".join(f"{text}\n" for text in self.texts).encode()


@dataclass(frozen=True)
class Kept:
    """A list that is kept, by its address and its number of texts."""

    sha256: str
    texts: int


def parse_candidates(body: bytes) -> CandidateList:
    """Return the list in a text file: UTF-8, a candidate a line; blank lines don't count.

    Raises BadRequest that names the line at fault and never repeats it.
    """
    try:
        lines = body.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        broken = body.count(b"\n", 0, error.start) + 1
        raise BadRequest(
            f"candidates: line {broken} is not UTF-8; save the file as UTF-8 text"
        ) from None
    texts: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        try:
            text = canonical_bytes(line.strip()).decode()
        except TextProblem as error:
            raise BadRequest(
                f"candidates: line {number} {error.what}; shorten or remove it"
            ) from None
        if text:
            texts[text] = None
    return candidate_list(texts)


@dataclass(frozen=True)
class OddCandidate:
    """A candidate that may match nothing by the way it is written; the first is number 1."""

    number: int
    what: str


# Enough to see what is wrong with a file.
_MOST_ODD = 20


def odd_candidates(texts: Iterable[str]) -> tuple[OddCandidate, ...]:
    """Return the first candidates that are written as a device seldom records them."""
    found = (
        OddCandidate(number, what)
        for number, text in enumerate(texts, start=1)
        if (what := oddity_of(text)) is not None
    )
    return tuple(islice(found, _MOST_ODD))


def candidate_list(texts: Iterable[str]) -> CandidateList:
    """Return the list of distinct texts. Raises BadRequest for none and for too many."""
    distinct = tuple(texts)
    if not distinct:
        raise BadRequest("candidates: there are none; write at least one text, one a line")
    if len(distinct) > MAX_CANDIDATES:
        raise BadRequest(
            f"candidates: there are {len(distinct)}, more than {MAX_CANDIDATES}; split the list",
        )
    return CandidateList(distinct)


class CandidateLists:
    """The lists of each metric, in files of `folder`, the latest `KEPT_LISTS` of each.

    A file's name is its SHA-256 and its number of texts; only their owner may read them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, metric: str, candidates: CandidateList) -> None:
        """Store a list, and drop the metric's oldest where there are too many."""
        folder = self._folder / metric
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{candidates.sha256}.{len(candidates.texts)}.txt"
        # Written aside and renamed: a reader never sees half a list.
        descriptor, path = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(candidates.body)
        Path(path).replace(folder / name)
        for old in self._files(metric)[KEPT_LISTS:]:
            old.unlink(missing_ok=True)

    def get(self, metric: str, sha256: str) -> CandidateList:
        """Return a list. Raises NotFound if it is not kept."""
        for file in self._files(metric):
            if file.name.startswith(sha256):
                try:
                    body = file.read_bytes()
                except FileNotFoundError:
                    break
                return parse_candidates(body)
        raise NotFound(
            f"query.candidates: this list is not kept here (the latest {KEPT_LISTS} of a metric "
            "are); upload it again, the same texts have the same address",
        )

    def kept(self, metric: str) -> list[Kept]:
        """Return what is kept for a metric, the latest first."""
        names = [_NAME.fullmatch(file.name) for file in self._files(metric)]
        return [Kept(name[1], int(name[2])) for name in names if name]

    def _files(self, metric: str) -> list[Path]:
        folder = self._folder / metric
        if not folder.is_dir():
            return []
        dated: list[tuple[int, Path]] = []
        for file in folder.iterdir():
            if _NAME.fullmatch(file.name):
                try:
                    dated.append((file.stat().st_mtime_ns, file))
                except FileNotFoundError:
                    continue
        return [file for _, file in sorted(dated, reverse=True)]
