"""Hashes are the same everywhere: fixed answers, unsigned, bytes only."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from math import sqrt

import pytest

from rumor_shared.hashing import GAMMA, MASK, hash_bytes, metric_key, mix, position, positions, salt
from rumor_shared.text import TextProblem, canonical_bytes


def test_murmur_reference() -> None:
    """The published MurmurHash3 x64 128 of "foo" and of nothing, split little-endian."""
    foo = bytes.fromhex("6145f501578671e2877dba2be487af7e")
    assert hash_bytes(b"foo") == (
        int.from_bytes(foo[:8], "little"),
        int.from_bytes(foo[8:], "little"),
    )
    assert hash_bytes(b"") == (0, 0)


def test_mix_reference() -> None:
    """SplitMix64 seeded with 1234567 gives its published first five numbers."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [mix((1234567 + GAMMA * (i + 1)) & MASK) for i in range(5)] == expected


def test_positions_are_fixed() -> None:
    """Which bits a value sets is part of the protocol: these may never change."""
    key = metric_key("browser", 1)
    got = [positions(hash_bytes(b"Firefox 140"), key, cohort, 2, 128) for cohort in range(4)]
    assert got == [(56, 5), (74, 82), (59, 57), (114, 21)]


def test_positions_are_uniform_and_differ_by_cohort() -> None:
    """Over 20,000 values each of 64 cells is hit alike: |z| < 6, false-alarm rate 64 * 2e-9."""
    key = metric_key("m", 1)
    runs = 20_000
    values = [hash_bytes(str(i).encode()) for i in range(runs)]
    for cohort in (0, 1, 255):
        seen = Counter(position(v, salt(key, cohort, 0), 64) for v in values)
        sd = sqrt(runs / 64 * 63 / 64)
        assert all(abs(seen[cell] - runs / 64) < 6 * sd for cell in range(64))
    together = sum(
        position(v, salt(key, 0, 0), 64) == position(v, salt(key, 1, 0), 64) for v in values
    )
    assert abs(together - runs / 64) < 6 * sqrt(runs / 64)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_lone_surrogate_never_reaches_the_hash(text: str) -> None:
    """A lone surrogate is a clean error, not a crash of the interpreter (EN-01)."""
    with pytest.raises(TextProblem, match="lone surrogate"):
        canonical_bytes(text)


def test_surrogate_from_json_does_not_kill_the_process() -> None:
    """A process fed JSON's escaped surrogate ends with a Python error, not a signal (EN-01)."""
    code = (
        "import json\n"
        "from rumor_shared.text import canonical_bytes, TextProblem\n"
        "try:\n    canonical_bytes(json.loads('\"\\\\ud800\"'))\n"
        "except TextProblem:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "refused")


def test_one_spelling_one_hash() -> None:
    """Composed and decomposed spellings of one text hash alike."""
    assert canonical_bytes("cafe\u0301") == canonical_bytes("caf\u00e9") == "café".encode()
