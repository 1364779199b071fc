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


def is_canonical(text: str) -> bool:
    """Return whether `text` is already in NFC."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)
