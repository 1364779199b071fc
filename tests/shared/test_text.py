"""One spelling for one text, on every runtime: NFC of Unicode 13.0, and bytes beyond it (H3-03)."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

import pytest

from rumor_shared.text import canonical_bytes, is_canonical
from rumor_shared.unicode_13 import is_assigned

# An e and an acute accent, which every version composes.
ACCENTED = "e\u0301"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Unicode 15.0 gives U+1E08F a combining class, so that later runtimes compose across it.
        ("a\U0001e08f\u0323", "61f09e828fcca3"),
        # Unicode 16.0 composes these two into U+113C7.
        ("\U000113c2\U000113b8", "f0918f82f0918eb8"),
        (ACCENTED, "c3a9"),
        # Of Unicode 14.0: nothing composes with it, and yet a runtime of 13.0 can't know.
        (f"{ACCENTED}\U0001fae0", "65cc81f09faba0"),
        # A noncharacter is assigned by no version.
        (f"{ACCENTED}\ufffe", "65cc81efbfbe"),
        # Private use is assigned by all.
        (f"{ACCENTED}\ue000", "c3a9ee8080"),
        # Hangul is composed by rule, and a compatibility ideograph becomes another.
        ("\u1112\u1161\u11ab\uf900", "ed959ce8b188"),
        # The first code point that 13.0 does not assign, and the one before.
        (f"{ACCENTED}\u0378", "65cc81cdb8"),
        (f"{ACCENTED}\u0377", "c3a9cdb7"),
    ],
)
def test_text_has_one_spelling_on_every_runtime(text: str, expected: str) -> None:
    """What 13.0 doesn't assign is taken as it is, and all of the text with it."""
    assert canonical_bytes(text).hex() == expected
    assert is_canonical(canonical_bytes(text).decode())
    assert is_canonical(text) == (text.encode().hex() == expected)


def test_the_table_is_unicode_13() -> None:
    """It assigns 283,440 code points, the very ones, all of which this runtime assigns too."""
    assigned = [code for code in range(0x110000) if is_assigned(chr(code))]
    assert len(assigned) == 283_440
    digest = sha256(b"".join(code.to_bytes(3, "big") for code in assigned)).hexdigest()
    assert digest == "15e00c09bfb445ea771710c4191024f9961b8fa67c3de57c3d7e0097cbafb5a8"
    assert all(unicodedata.category(chr(code)) != "Cn" for code in assigned)


def test_what_13_assigns_is_composed_as_ever() -> None:
    """For each code point of 13.0, alone and behind an accent, the spelling is this runtime's NFC:
    by Unicode's stability policy that is the same in every version.
    """
    for code in range(0x300, 0x110000):
        if not 0xD800 <= code < 0xE000 and is_assigned(chr(code)):
            text = f"{ACCENTED}{chr(code)}"
            assert canonical_bytes(text) == unicodedata.normalize("NFC", text).encode()
