"""The three draws are exact: shown by walking every stream of digits, and by fixed answers."""

from __future__ import annotations

import hashlib
import io
import os
import random
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product

import pytest

from rumor_client.perturbation.randomness import Randomness, permanent_randomness, system_randomness
from rumor_shared.probability import ONE
from rumor_shared.wire import length_prefixed

DIGITS = 4
STEP = ONE >> DIGITS


def scripted(data: list[int]) -> Randomness:
    """Return randomness over single bytes, in order, that fails when it reads past the end."""
    stream = iter(data)
    return Randomness(lambda size: bytes(next(stream) for _ in range(size)))


@pytest.mark.parametrize("numerator", range(2**DIGITS + 1))
def test_bernoulli_is_exact(numerator: int) -> None:
    """Over all streams of four digits a draw of n / 16 succeeds in exactly n of 16."""
    wins = sum(
        scripted(list(digits)).bernoulli(numerator * STEP)
        for digits in product((0, 1), repeat=DIGITS)
    )
    assert wins == numerator


def test_bits_are_exact_and_independent() -> None:
    """Over all streams each pair of bits has the product of its two probabilities."""
    if_set, if_clear = 11 * STEP, 3 * STEP
    seen = Counter(
        scripted(list(digits)).bits(2, 0b01, if_set, if_clear)
        for digits in product(range(4), repeat=DIGITS)
    )
    a, b = Fraction(11, 16), Fraction(3, 16)
    expected = {0: (1 - a) * (1 - b), 1: a * (1 - b), 2: (1 - a) * b, 3: a * b}
    assert {k: Fraction(v, 4**DIGITS) for k, v in seen.items()} == expected


def test_certain_events_need_no_bytes() -> None:
    """What always happens and what never does draw nothing."""
    assert scripted([]).bernoulli(ONE)
    assert not scripted([]).bernoulli(0)


@pytest.mark.parametrize("numerator", [1, ONE // 3, ONE // 2, 3 * (ONE // 4), ONE - 1])
def test_a_bernoulli_draw_is_a_vector_of_one_bit(numerator: int) -> None:
    """Both give the same from the same stream, and leave the same of it."""
    for seed in range(50):
        data = random.Random(seed).randbytes(200)
        alone, vector = io.BytesIO(data), io.BytesIO(data)
        drawn = [Randomness(alone.read).bernoulli(numerator) for _ in range(3)]
        assert drawn == [Randomness(vector.read).bits(1, 1, numerator, 0) == 1 for _ in range(3)]
        assert alone.read() == vector.read()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 200, 256])
def test_below_is_exact(n: int) -> None:
    """Every byte is either rejected or chooses each of n numbers equally often."""
    seen: Counter[int] = Counter()
    for first in range(256):
        try:
            seen[scripted([first]).below(n)] += 1
        except RuntimeError:  # the script ended: the byte was rejected
            continue
    assert set(seen) == set(range(n))
    assert len(set(seen.values())) == 1


def test_certain_bits_need_no_bytes() -> None:
    """Probabilities 0 and 1 are exactly that, and draw nothing."""
    assert scripted([]).bits(16, 0x0F0F, ONE, 0) == 0x0F0F
    assert scripted([]).bits(16, 0x0F0F, 0, ONE) == 0xF0F0
    assert scripted([0]).bits(4, 0b0011, ONE, ONE // 2) == 0b1111


def mixed_draws(live: Randomness) -> list[int]:
    """Return the results of draws of every kind and width."""
    drawn = []
    for count, n in ((1, 2), (7, 300), (128, 1), (13, 70_000), (600, 256)):
        drawn += [live.bits(count, 0b101, ONE // 3, 2 * (ONE // 3)), live.below(n)]
        drawn += [live.bernoulli(ONE // 7), live.unless(ONE // 5, 1, 10)]
    return drawn


def read_ahead(stream: io.BytesIO, ahead: int, size: int) -> bytes:
    """Return the next bytes, and `ahead` more than were asked for."""
    return stream.read(size + ahead)


@pytest.mark.parametrize("ahead", [1, 3, 64, 5000])
def test_reading_ahead_changes_no_draw(ahead: int) -> None:
    """Bytes that come before they are asked for, or with the object, are drawn in their order."""
    for seed in range(20):
        data = random.Random(seed).randbytes(20_000)
        asked, early, given = io.BytesIO(data), io.BytesIO(data), io.BytesIO(data)
        wanted = mixed_draws(Randomness(asked.read))
        assert mixed_draws(Randomness(partial(read_ahead, early, ahead))) == wanted
        assert mixed_draws(Randomness(given.read, given.read(ahead))) == wanted


def test_a_wide_vector_takes_few_reads() -> None:
    """A 128-bit vector is decided after about nine reads: log2(128) + 1.33 by expectation."""
    reads = []

    def read(size: int) -> bytes:
        reads.append(size)
        return os.urandom(size)

    for _ in range(300):
        Randomness(read).bits(128, (1 << 64) - 1, ONE // 3, ONE // 5)
    assert set(reads) == {16}
    # The mean of 300 runs has a standard deviation near .11: 12 is out of reach of chance.
    assert len(reads) / 300 < 12


def test_permanent_randomness_is_repeatable_far_out() -> None:
    """A long permanent vector, past the first squeeze, is the same when drawn again, and is read
    from one stream.
    """
    draws = [
        permanent_randomness(b"k" * 32, "m", 1, 0, b"v").bits(4000, 0, 0, ONE // 3)
        for _ in range(2)
    ]
    assert draws[0] == draws[1]
    assert draws[0].bit_length() > 3900
    message = length_prefixed("rumor/permanent/1", b"k" * 32, "m", 1, 0, b"v")
    stream = io.BytesIO(hashlib.shake_256(message).digest(64 * 500))
    assert draws[0] == Randomness(stream.read).bits(4000, 0, 0, ONE // 3)


def test_system_randomness_differs_after_fork() -> None:
    """A child process does not repeat its parent's draws."""
    chance = system_randomness()
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        fresh = system_randomness().bits(256, 0, 0, ONE // 2)
        os.write(sending, fresh.to_bytes(32, "little"))
        os._exit(0)
    os.waitpid(pid, 0)
    child = int.from_bytes(os.read(receiving, 32), "little")
    os.close(receiving)
    os.close(sending)
    assert child != chance.bits(256, 0, 0, ONE // 2)


def eager_bits(stream: bytes, count: int, set_mask: int, if_set: int, if_clear: int) -> int:
    """Compare all 64 digits of each bit's u at once: the definition, without laziness."""
    size = (count + 7) // 8
    digits = [int.from_bytes(stream[i * size : (i + 1) * size], "little") for i in range(64)]
    ones = 0
    for i in range(count):
        u = sum((digits[d] >> i & 1) << (63 - d) for d in range(64))
        ones |= (u < (if_set if set_mask >> i & 1 else if_clear)) << i
    return ones


def test_lazy_comparison_equals_the_definition() -> None:
    """Stopping early never changes a bit: 64 full digits give the same vector."""
    for seed in range(200):
        source = random.Random(seed)
        stream = source.randbytes(64 * 5)
        chances = source.getrandbits(64), source.getrandbits(64)
        mask = source.getrandbits(37)
        reader = io.BytesIO(stream)
        lazy = Randomness(reader.read).bits(37, mask, *chances)
        assert lazy == eager_bits(stream, 37, mask, *chances)


def test_known_permanent_bits() -> None:
    """The order in which digits are read is part of the protocol: these bits may never change."""
    secret = bytes(range(32))
    arguments = (32, 0b1010, 3 * (ONE // 4), ONE // 8)
    drawn = permanent_randomness(secret, "browser", 1, 5, b"Firefox").bits(*arguments)
    message = b"".join(
        len(part).to_bytes(4, "little") + part
        for part in (
            b"rumor/permanent/1",
            secret,
            b"browser",
            (1).to_bytes(8, "little"),
            (5).to_bytes(8, "little"),
            b"Firefox",
        )
    )
    stream = hashlib.shake_256(message).digest(64 * 4)
    assert drawn == eager_bits(stream, *arguments) == 2168457346
