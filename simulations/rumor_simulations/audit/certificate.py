"""The certificate: the exact law of all that a device makes, held against what is declared.

Every outcome of the client's `record` is followed: cohort, payload, id and day together. Two things
are looked at: the largest ratio of one output's probability under two values, which is the loss,
and whether each output is exactly as likely as the mechanism's formulas say, which is what
estimates rest on. A domain too large for that is scaled down: the same mechanism, code and
probabilities over few values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import NamedTuple

from rumor_client import Client
from rumor_shared.epsilon import micro_epsilon
from rumor_shared.metric import Metric
from rumor_shared.wire import ID_BYTES
from rumor_simulations.audit.device import (
    TODAY,
    FirstReports,
    Maker,
    output,
)
from rumor_simulations.audit.events import permanent_metric
from rumor_simulations.audit.exact_law import Law, TooManyOutcomes, branches
from rumor_simulations.mechanisms.table import population_model

# Half a second of enumeration a value.
MAX_OUTCOMES = 6_000
# Enough texts of an open domain that some two of them have nothing in common.
OPEN_TEXTS = tuple(f"v{i}" for i in range(10))
# Values of a closed domain that are enumerated against each other: the first and the last among
# them, since ends are where vectors go wrong.
MAX_VALUES = 8

# Fair bits are shown as zeros by the enumeration.
_NO_ID = bytes(ID_BYTES)
# A kept cohort is the low bits of one byte; the bits above them must not matter.
_BYTE = 0xFF


@dataclass(frozen=True)
class Certificate:
    """What the enumeration found; `epsilon` and `declared` are micro-epsilon.

    `ratio` is the largest ratio of one output's probability under two values, None where an output
    is possible under one and impossible under the other. `deviation` is the largest difference
    between an output's probability and the declared one. `outputs` is how many outputs one value
    has, and `values` how many values were enumerated, of the metric or of one `scaled` down.
    """

    ratio: Fraction | None
    deviation: Fraction
    declared: int
    outputs: int
    values: int
    scaled: bool

    @property
    def epsilon(self) -> int | None:
        """The loss of the largest ratio, rounded up; None where it is infinite."""
        return None if self.ratio is None else micro_epsilon(self.ratio)

    @property
    def breached(self) -> bool:
        """Whether the client gives away more than it declares."""
        return self.epsilon is None or self.epsilon > self.declared

    @property
    def tight(self) -> bool:
        """Whether it costs exactly what it declares."""
        return self.epsilon == self.declared


class Laws(NamedTuple):
    """The exact laws of one value: of all that leaves the device, and of the permanent answer."""

    report: Law
    permanent: Law


def certify(metric: Metric, maker: Maker = Client) -> Sequence[Certificate] | str:
    """Certify one report and, where answers are permanent, all reports of one unchanging value.

    Returns why it can't be done where even few values have too many outcomes. Raises
    UndeclaredChance for a client that meets chance otherwise than by draws, WrongStream for one
    whose permanent answers come from another stream than their own, IncompleteMechanism for a
    memoised mechanism whose population model declares no permanent answers.
    """
    try:
        try:
            return _certify(metric, maker, scaled=False)
        except TooManyOutcomes:
            return _certify(population_model(metric).scaled_metric(), maker, scaled=True)
    except TooManyOutcomes as error:
        return str(error)


def _certify(metric: Metric, maker: Maker, *, scaled: bool) -> tuple[Certificate, ...]:
    texts = some_texts(metric)
    if not scaled:
        _check_size(metric)
    found = [enumerated(metric, text, maker, MAX_OUTCOMES) for text in texts]
    mechanism = metric.mechanism
    made = [
        _certificate(
            [laws.report for laws in found],
            [declared_report(metric, text) for text in texts],
            mechanism.epsilon_report,
            scaled=scaled,
        )
    ]
    if mechanism.memoised:
        permanent = population_model(permanent_metric(metric))
        made.append(
            _certificate(
                [laws.permanent for laws in found],
                [_over_cohorts(mechanism.cohorts, text, permanent.chances) for text in texts],
                mechanism.epsilon_infinity or 0,
                scaled=scaled,
            )
        )
    return tuple(made)


def enumerated(metric: Metric, text: str, maker: Maker, limit: int) -> Laws:
    """Return the exact laws of a fresh device that holds `text`.

    Raises TooManyOutcomes, UndeclaredChance, and WrongStream for a permanent answer that is drawn
    from another stream than its own.
    """
    devices = FirstReports(metric, maker)
    kept = metric.mechanism.cohorts if metric.mechanism.memoised else 1
    laws = Laws({}, {})
    for cohort in range(kept):
        # The byte's high bits are set, since they must not matter.
        recorded = partial(devices.recorded, text, cohort | _BYTE & -kept)
        for number, (made, chance) in enumerate(branches(recorded, limit)):
            if number >= limit:
                raise TooManyOutcomes(limit)
            if chance:
                answer = cohort.to_bytes(4, "little") + made.permanent
                for law, name in ((laws.report, made.output), (laws.permanent, answer)):
                    law[name] = law.get(name, Fraction(0)) + chance / kept
    return laws


def declared_report(metric: Metric, text: str) -> Law:
    """Return the law that the mechanism's formulas give to all that leaves the device."""
    cohorts = metric.mechanism.cohorts
    chances = population_model(metric).chances
    return {
        output(cohort, payload, _NO_ID, TODAY, metric.name, metric.revision): chance / cohorts
        for cohort in range(cohorts)
        for payload, chance in chances(text, cohort).items()
    }


def _over_cohorts(
    cohorts: int, text: str, chances: Callable[[str, int], Mapping[bytes, Fraction]]
) -> Law:
    return {
        cohort.to_bytes(4, "little") + answer: chance / cohorts
        for cohort in range(cohorts)
        for answer, chance in chances(text, cohort).items()
    }


def _check_size(metric: Metric) -> None:
    """Raise TooManyOutcomes for a metric whose cohorts and cells alone pass the limit."""
    mechanism = metric.mechanism
    if mechanism.cohorts * min(mechanism.cells, MAX_OUTCOMES) > MAX_OUTCOMES:
        raise TooManyOutcomes(MAX_OUTCOMES)


def _certificate(
    laws: Sequence[Law], formulas: Sequence[Law], declared: int, *, scaled: bool
) -> Certificate:
    deviation = max(
        abs(law.get(name, Fraction(0)) - formula.get(name, Fraction(0)))
        for law, formula in zip(laws, formulas, strict=True)
        for name in law.keys() | formula.keys()
    )
    return Certificate(
        largest_ratio(laws), deviation, declared, max(map(len, laws)), len(laws), scaled
    )


def some_texts(metric: Metric) -> tuple[str, ...]:
    """Return values to hold against each other, first and last of a closed domain included."""
    values = metric.mechanism.values
    if values is None:
        return OPEN_TEXTS
    if len(values) <= MAX_VALUES:
        return values
    return (*values[: MAX_VALUES - 1], values[-1])


def largest_ratio(laws: Sequence[Law]) -> Fraction | None:
    """Return the largest ratio of one output's probability under any two laws, None if infinite."""
    worst = Fraction(1)
    for one, other in permutations(laws, 2):
        for name, p in one.items():
            if name not in other:
                return None
            worst = max(worst, p / other[name])
    return worst
