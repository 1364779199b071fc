"""Numbers and days as people read them: as many digits as the error leaves meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

MINUS = "\N{MINUS SIGN}"
# A share to a millionth: the finest that a million reports could ever resolve.
_MOST_DECIMALS = 4
# Above this a factor is no number anyone can picture; the power of ten says it.
_LARGE_FACTOR = 1_000_000


def count(number: int) -> str:
    """Return a whole number with its thousands set apart."""
    return f"{number:,}".replace("-", MINUS)


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def decimals_for(std_errors: NDArray[np.float64] | Sequence[float]) -> int:
    """Return how many decimals a percentage gets: two digits of the median error."""
    errors = np.asarray(std_errors, dtype=np.float64)
    errors = errors[errors > 0]
    if not errors.size:
        return 1
    return min(max(1 - math.floor(math.log10(float(np.median(errors)) * 100)), 0), _MOST_DECIMALS)


def percent(share: float, decimals: int) -> str:
    """Return a share of 1 as a percentage, without the sign of percent; never a negative zero."""
    text = f"{share * 100:,.{decimals}f}"
    return text.replace("-", "" if not text.strip("-0.,") else MINUS)


def signed(share: float, decimals: int) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    text = percent(share, decimals)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def probability(p_value: float) -> str:
    """Return a p-value; what is below a ten-thousandth is only said to be."""
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def factor(epsilon: float) -> str:
    """Return e^epsilon, rounded up: by how much a report can multiply anyone's odds."""
    if epsilon > math.log(_LARGE_FACTOR):
        return f"10^{math.ceil(epsilon / math.log(10))}"
    value = math.exp(epsilon)
    if value >= 100:
        return count(math.ceil(value))
    return f"{math.ceil(value * 100 - 1e-9) / 100:g}"


def certainty(epsilon: float) -> str:
    """Return how sure one can be, in percent, who held two answers to be equally likely before."""
    chance = 1 / (1 + math.exp(-epsilon))
    # Rounded up, and never to a certainty that the mechanism does not give.
    rounded = math.ceil(chance * 1000 - 1e-9) / 10
    return "over 99.9" if rounded >= 99.95 else f"{rounded:g}"


def epsilon_text(epsilon: float) -> str:
    """Return an epsilon with three decimals at most, rounded up."""
    text = f"{math.ceil(epsilon * 1000 - 1e-6) / 1000:,.3f}"
    return text.rstrip("0").rstrip(".")


def day(value: date) -> str:
    """Return a day for a sentence: 30 Nov 2026."""
    return f"{value.day} {value:%b %Y}"


def short_day(value: date) -> str:
    """Return a day for an axis: 30 Nov."""
    return f"{value.day} {value:%b}"


def period(first: date, last: date) -> str:
    """Return a period for a sentence."""
    return day(first) if first == last else f"{day(first)} to {day(last)}"
