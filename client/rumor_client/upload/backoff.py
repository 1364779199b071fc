"""Retry delays: exponential back-off with full jitter, or what the collector asked for.

Full jitter (a uniform wait between zero and the bound) is what keeps devices that failed together
from coming back together: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog 2015.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime

# Design, section 7: `Retry-After` is clamped to this.
SHORTEST = 1.0
LONGEST = 3600.0

# The first bound of a back-off; it doubles with each failure, up to LONGEST.
_FIRST = 2.0
# 2 s doubled eleven times has passed an hour.
_DOUBLINGS = 11

Jitter = Callable[[], float]


def uniform() -> float:
    """Return a uniform number in [0, 1) from the system: devices must not share a seed."""
    return int.from_bytes(os.urandom(7), "little") / (1 << 56)


def wait_after(failures: int, jitter: Jitter) -> float:
    """Return the seconds to wait after that many failures in a row (at least one)."""
    return jitter() * min(LONGEST, _FIRST * (1 << min(failures - 1, _DOUBLINGS)))


def long_wait(jitter: Jitter) -> float:
    """Return the seconds to wait for a disk to be emptied: half an hour to an hour."""
    return LONGEST * (0.5 + 0.5 * jitter())


def retry_after(header: str | None, now: datetime) -> float | None:
    """Return the seconds a `Retry-After` asks for, clamped; None where there is none to read.

    RFC 9110, section 10.2.3: a number of seconds or a date.
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        # Nine digits are thirty years; int() of thousands would be slow, and refused.
        seconds = float(text[:9])
    else:
        from email.utils import parsedate_to_datetime  # rare, and a slow import

        try:
            moment = parsedate_to_datetime(text)
            seconds = (moment - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, SHORTEST), LONGEST)
