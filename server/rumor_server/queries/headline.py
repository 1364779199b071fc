"""The result in one sentence, never stronger than the tests behind it.

The leader was selected by looking, so its bounds are those of all values at once; they are rounded
outwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rumor_server.queries.cache import Measured
from rumor_server.queries.comparison import ChangeRow
from rumor_server.queries.question import Population, Question
from rumor_server.queries.ranks import Ranked
from rumor_server.statistics.estimates import Answer
from rumor_server.statistics.estimation.headline import (
    PRECISION,
    Changed,
    Comparison,
    Headline,
    Leader,
    Tie,
    TooFew,
    Unchanged,
    headline,
)

# More values than these are told by their number.
_NAMED = 3


def headline_of(
    question: Question,
    measured: Measured,
    ranked: Ranked | None,
    changes: Sequence[ChangeRow] | None = None,
) -> str | None:
    """Return what may be said of an answer; None where it has no numbers.

    `changes` are those from another period to this one, where it was asked for.
    """
    if ranked is None:
        return None
    answer = measured.answer
    low, high = answer.simultaneous_low, answer.simultaneous_high
    first = int(answer.frequency.argmax())
    # An interval narrows with the root of the reports.
    needed = measured.n * (float(high[first] - low[first]) / (2 * PRECISION)) ** 2
    decided = headline(
        measured.n,
        answer.frequency,
        low,
        high,
        ranked.ranks,
        needed=_two_digits(needed),
        comparison=None if changes is None else _comparison(measured.values, changes),
    )
    return _sentence(question, measured, decided)


def _comparison(values: Sequence[str], changes: Sequence[ChangeRow]) -> Comparison:
    by_value = {row.value: row for row in changes}
    rows = [by_value[value] for value in values]
    return Comparison(
        difference=np.array([row.difference for row in rows]),
        low=np.array([row.low for row in rows]),
        high=np.array([row.high for row in rows]),
        significant=np.array([row.significant for row in rows], dtype=np.bool_),
    )


def _sentence(question: Question, measured: Measured, decided: Headline) -> str:
    values, answer = measured.values, measured.answer
    whose = "devices that answered" if _once(measured) else "reports"
    among = " among the candidates" if question.is_open and len(values) > 1 else ""
    match decided.standing:
        case Leader(value, low, high):
            share = _share(answer, value, low, high)
            said = f"Of the {whose}, {values[value]} leads{among}: {share}"
        case Tie((only,)) if len(values) == 1:
            share = _share(answer, only, *_bounds(answer, only))
            said = f"Of the {whose}, {values[only]} has {share}"
        case Tie(tied):
            said = (
                f"Of the {whose}, no value is confirmed to lead{among}: {_any_of(values, tied)} "
                "may be the commonest"
            )
        case TooFew(n, needed):
            said = (
                f"Too few to say which leads{among}: {n:,} report{'' if n == 1 else 's'}; from "
                f"about {needed:,} all intervals together are within 10 points"
            )
    match decided.change:
        case Changed(rose, fell):
            parts = [("rose", rose), ("fell", fell)]
            said += "; " + ", ".join(f"{_all_of(values, who)} {did}" for did, who in parts if who)
        case Unchanged():
            said += "; no value changed beyond chance"
        case None:
            pass
    return f"{said}."


def _once(measured: Measured) -> bool:
    return measured.population is Population.DEVICES


def _bounds(answer: Answer, value: int) -> tuple[float, float]:
    bounds = np.clip([answer.simultaneous_low[value], answer.simultaneous_high[value]], 0, 1)
    return float(bounds[0]), float(bounds[1])


def _share(answer: Answer, value: int, low: float, high: float) -> str:
    """Return a share in percent, between bounds that are rounded outwards."""
    digits = 0 if high - low > 2 / 100 else 1
    scale = 10**digits
    # What is whole but for its last bits stays as it is.
    below = math.floor(round(100 * low * scale, 6)) / scale
    above = math.ceil(round(100 * high * scale, 6)) / scale
    share = 100 * min(max(float(answer.frequency[value]), 0), 1)
    return f"{share:.{digits}f}%, between {below:.{digits}f} and {above:.{digits}f}"


def _any_of(values: Sequence[str], chosen: Sequence[int]) -> str:
    if len(chosen) > _NAMED:
        return f"any of {len(chosen):,} values"
    names = [values[i] for i in chosen]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _all_of(values: Sequence[str], chosen: Sequence[int]) -> str:
    if len(chosen) > _NAMED:
        return f"{len(chosen):,} values"
    names = [values[i] for i in chosen]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _two_digits(number: float) -> int:
    digit: int = 10 ** max(math.floor(math.log10(max(number, 1))) - 1, 0)
    return math.ceil(number / digit) * digit
