"""Where a device's chance comes from: the operating system, by three draws, and nothing else.

An enumeration answers the draws itself, so it can't see a generator that is seeded with the clock.
Here `os.urandom` is scripted: the same bytes must make the same reports in any process at any time,
other bytes other reports, and the reports must be those that the draws make of these very bytes.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rumor_client import MemoryState
from rumor_client.perturbation.randomness import Randomness, system_randomness
from rumor_shared.probability import BITS, HALF, ONE
from rumor_shared.wire import SECRET_BYTES
from rumor_simulations.audit.device import Maker, output_of
from rumor_simulations.audit.device_bench import FRESH, OPEN, PERMANENT, VALUES, bench_registry

STREAMS = (b"one", b"other")

_NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
_NO_POLICY = Path(__file__).with_name("no-policy.toml")
# What a device is asked to record, and other values of the same metrics.
_ASKED = ((FRESH, VALUES[0]), (OPEN, "a text"), (PERMANENT, VALUES[1]), (FRESH, VALUES[-1]))

_ASKED_ELSEWHERE = tuple(
    (metric, "another text" if metric == OPEN else VALUES[2]) for metric, _ in _ASKED
)


class Script:
    """Stands for `os.urandom`: an endless stream that follows from `seed`, and what was read."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.read: list[bytes] = []

    def __call__(self, size: int, /) -> bytes:
        """Return the next `size` bytes."""
        made = hashlib.shake_256(self._seed + len(self.read).to_bytes(8, "little")).digest(size)
        self.read.append(made)
        return made


@contextmanager
def scripted(source: Callable[[int], bytes]) -> Iterator[None]:
    """Let `os.urandom` be `source` for a while."""
    names = vars(os)
    real, names["urandom"] = names["urandom"], source
    try:
        yield
    finally:
        names["urandom"] = real


def reports_from(maker: Maker, seed: bytes) -> bytes:
    """Return secret and reports of a device whose operating system gives the stream of `seed`."""
    with scripted(Script(seed)):
        return b"".join(_reports(maker))


class _Device(NamedTuple):
    secret: bytes
    reports: bytes


def _reports(
    maker: Maker,
    randomness: Callable[[], Randomness] | None = None,
    asked: Sequence[tuple[str, str]] = _ASKED,
) -> _Device:
    state = MemoryState()
    seam = {} if randomness is None else {"randomness": randomness}
    client = maker(
        bench_registry(),
        state=state,
        background=False,
        environ={},
        policy=_NO_POLICY,
        clock=lambda: _NOW,
        **seam,
    )
    client.consent.grant()
    for metric, value in asked:
        client.record(metric, value)
    with state.transaction() as transaction:
        identity = transaction.identity()
    secret = b"" if identity is None else identity.secret + bytes((identity.cohort,))
    return _Device(secret, output_of([item.report for item in client.waiting()]))


def draws_decide(maker: Maker) -> str | None:
    """Return what is wrong where reports are not what the draws make of the system's bytes."""
    script = Script(STREAMS[0])
    with scripted(script):
        made = _reports(maker)
    replay = iter(script.read)

    def unscripted(size: int, /) -> bytes:
        raise RuntimeError("os.urandom is read beside the randomness that was handed over")

    with scripted(unscripted):
        try:
            drawn = _reports(maker, lambda: Randomness(lambda size: next(replay, b"")))
        except (RuntimeError, IndexError) as error:
            return f"reports don't follow from the operating system's bytes: {error}"
    if made != drawn or next(replay, None) is not None:
        return "reports are not what the three draws make of the operating system's bytes"
    with scripted(Script(STREAMS[0])):
        elsewhere = _reports(maker, asked=_ASKED_ELSEWHERE)
    if elsewhere.secret != made.secret:
        return "a device's secret depends on what it answers"
    with scripted(Script(STREAMS[1])):
        other = _reports(maker)
    if other.secret[:SECRET_BYTES] == made.secret[:SECRET_BYTES]:
        return "a device's secret is the same whatever the operating system's randomness is"
    return None


def draws_are_exact() -> str | None:
    """Return which of the three draws does not follow its bytes as it is said to."""
    made = type(system_randomness())
    chosen = random.Random(1)

    def reading(stream: bytes) -> Randomness:
        rest = iter(stream)
        return made(lambda size: bytes(next(rest) for _ in range(size)))

    for n in (*range(1, 34), 255, 256):
        mask = (1 << (n - 1).bit_length()) - 1
        for octet in range(256) if n > 1 else ():
            # What is not below n is rejected, and the zero behind it taken.
            if reading(bytes((octet, 0))).below(n) != (octet & mask if octet & mask < n else 0):
                return f"a choice below {n} is not uniform"
    for numerator in (1, 2, HALF - 1, HALF, HALF + 1, ONE - 1, chosen.randrange(ONE)):
        for u in (0, numerator - 1, numerator, ONE - 1, chosen.randrange(ONE)):
            digits = bytes(u >> at & 1 for at in reversed(range(BITS)))
            if reading(digits).bernoulli(numerator) != (u < numerator):
                return "a single bit has not its probability"
    for _ in range(200):
        count = chosen.randrange(1, 20)
        mask = chosen.getrandbits(count)
        if_set, if_clear = chosen.randrange(ONE + 1), chosen.randrange(ONE + 1)
        # Half of the numbers agree with their threshold but for the last digits.
        near = [if_set if mask >> i & 1 else if_clear for i in range(count)]
        us = [
            max(0, min(ONE - 1, n - chosen.randrange(-1, 2)))
            if chosen.random() < 0.5
            else chosen.randrange(ONE)
            for n in near
        ]
        stream = b"".join(
            sum((u >> at & 1) << i for i, u in enumerate(us)).to_bytes((count + 7) // 8, "little")
            for at in reversed(range(BITS))
        )
        wanted = sum((u < n) << i for i, (u, n) in enumerate(zip(us, near, strict=True)))
        if reading(stream).bits(count, mask, if_set, if_clear) != wanted:
            return "a vector of bits has not its probabilities"
    return None
