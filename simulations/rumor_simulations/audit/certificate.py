"""The certificate: the largest ratio of the client's exact law, as a rational number.

Every outcome of the client's code is enumerated. A domain too large for that is scaled down:
the same mechanism, code and probabilities over few values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from rumor_shared.epsilon import micro_epsilon
from rumor_shared.metric import Metric
from rumor_simulations.audit.client import Client
from rumor_simulations.audit.exact_law import Law, TooManyOutcomes, UndeclaredChance
from rumor_simulations.mechanisms.table import population_model

# Some seconds of enumeration.
MAX_OUTCOMES = 40_000
# Enough texts of an open domain that some two of them have nothing in common.
OPEN_TEXTS = tuple(f"v{i}" for i in range(10))
# Values of a closed domain that are enumerated against each other: the first and the last among
# them, since ends are where vectors go wrong.
MAX_VALUES = 8


@dataclass(frozen=True)
class Certificate:
    """What the enumeration found; `epsilon` and `declared` are micro-epsilon.

    `ratio` is the largest ratio of one output's probability under two values, None where an output
    is possible under one and impossible under the other. `outputs` is how many outputs one value
    has, and `values` how many values were enumerated, of the metric or of one `scaled` down.
    """

    ratio: Fraction | None
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


def certify_report(metric: Metric, client: Client) -> Certificate | str:
    """Certify one report of a device, or say why it can't be enumerated."""
    return _certify(metric, client.report_law, lambda m: m.mechanism.epsilon_report)


def certify_permanent(metric: Metric, client: Client) -> Certificate | str:
    """Certify the permanent answer: all reports of one unchanging value together."""
    return _certify(metric, client.permanent_law, lambda m: m.mechanism.epsilon_infinity or 0)


def _certify(
    metric: Metric, law: Callable[[Metric, str, int, int], Law], declared: Callable[[Metric], int]
) -> Certificate | str:
    try:
        try:
            return _enumerate(metric, law, declared(metric), scaled=False)
        except TooManyOutcomes:
            small = population_model(metric).scaled_metric()
            return _enumerate(small, law, declared(small), scaled=True)
    except (TooManyOutcomes, UndeclaredChance) as error:
        return str(error)


def _enumerate(
    metric: Metric, law: Callable[[Metric, str, int, int], Law], declared: int, *, scaled: bool
) -> Certificate:
    texts = some_texts(metric)
    cohort = metric.mechanism.cohorts - 1
    laws = [law(metric, text, cohort, MAX_OUTCOMES) for text in texts]
    ratio = largest_ratio(laws)
    return Certificate(ratio, declared, max(map(len, laws)), len(texts), scaled)


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
        for output, p in one.items():
            if output not in other:
                return None
            worst = max(worst, p / other[output])
    return worst
