"""One spelling for one text: NFC of Unicode 13.0, as strict UTF-8 bytes.

Text with a code point that Unicode 13.0 does not assign is taken as it is: a runtime with later
tables would compose what another leaves alone.

mmh3 5.x crashes the interpreter when a `str` with a lone surrogate is handed to it, so only the
bytes made here are ever hashed.
"""

from __future__ import annotations

import unicodedata

# Long enough for a URL or a user-agent string; short enough that a value is no side channel of
# size.
MAX_TEXT_BYTES = 4096
# U+0378 is the first code point that Unicode 13.0 does not assign.
_FIRST_UNASSIGNED = 0x378


class TextProblem(ValueError):
    """The text can't be normalised; `what` says why without repeating it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


def canonical_bytes(text: str) -> bytes:
    """Return `text` normalised to NFC of Unicode 13.0 as UTF-8 bytes.

    Raises TextProblem for a lone surrogate and for more than 4096 bytes.
    """
    if _is_normalised(text):
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
    """Return whether `text` is already as `canonical_bytes` spells it."""
    return not _is_normalised(text) or unicodedata.is_normalized("NFC", text)


def _is_normalised(text: str) -> bool:
    """Return whether normalisation applies: not to ASCII, and not beyond Unicode 13.0."""
    if text.isascii():
        return False
    if ord(max(text)) < _FIRST_UNASSIGNED:
        return True
    from rumor_shared.unicode_13 import is_assigned  # most text is Latin

    return is_assigned(text)
