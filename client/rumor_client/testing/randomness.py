"""Seeded randomness: for tests alone, since who knows the seed knows every coin."""

from __future__ import annotations

import random
from collections.abc import Callable

from rumor_client.perturbation.randomness import Randomness


def seeded(seed: int) -> Callable[[], Randomness]:
    """Return what a Client takes as `randomness`: all reports read one stream of this seed."""
    stream = random.Random(seed)  # noqa: S311 - repeatable is what it is for
    return lambda: Randomness(stream.randbytes)
