"""One spelling for one text: NFC, as strict UTF-8 bytes.

mmh3 5.x crashes the interpreter when a `str` with a lone surrogate is handed to it, so only the
bytes made here are ever hashed.
"""

from __future__ import annotations

import unicodedata

# Long enough for a URL or a user-agent string; short enough that a value is no side channel of
# size.
MAX_TEXT_BYTES = 4096


class TextProblem(ValueError):
    """The text can't be normalised; `what` says why without repeating it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


def canonical_bytes(text: str) -> bytes:
    """Return `text` normalised to NFC as UTF-8 bytes.

    Raises TextProblem for a lone surrogate and for more than 4096 bytes.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    try:
        encoded = text.encode("utf-8", "strict")
    except UnicodeEncodeError as error:
        raise TextProblem(f"has a lone surrogate at position {error.start}") from None
    if len(encoded) > MAX_TEXT_BYTES:
        raise TextProblem(f"has {len(encoded)} bytes, more than {MAX_TEXT_BYTES}")
    return encoded


# What opens and closes a quotation, as files of spreadsheets and of texts have it.
_QUOTES = ('""', "''", "``", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "\u300c\u300d")


def oddity_of(text: str) -> str | None:
    """Return what of a text is seldom meant, though any text may be a value: None where nothing is.

    A candidate that a device never recorded so matches nothing.
    """
    if text != text.strip():
        return "has blanks at an end"
    bare = text.rstrip(",;")
    if len(bare) > 1 and bare[0] + bare[-1] in _QUOTES:
        return "is in quotes"
    if bare != text:
        return "ends in a comma or a semicolon"
    if not text.isprintable():
        return "has a character that can't be seen"
    return None


def is_canonical(text: str) -> bool:
    """Return whether `text` is already in NFC."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)
