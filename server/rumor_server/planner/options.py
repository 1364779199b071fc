"""Every mechanism as it would be shipped for a question: same integers, payload and tally."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil
from typing import Any

from rumor_server.planner.accuracy import Accuracy
from rumor_server.statistics.mechanisms.table import BUILT_IN, estimator_class
from rumor_shared.errors import RegistryError
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_CELLS, MAX_PAYLOAD_BYTES, Mechanism
from rumor_shared.mechanisms.table import from_fields

# Regression on cells by cohort has no unbiased answer beyond this share of values for each cell.
_ROOM = 0.5
_MEMOISED = "basic_rappor"
# Of these every report supports the same number of values.
_ADDING_UP = ("krr", "subset")
# What a device remembers protects another question, and `binary` is krr over two values.
_NOT_CHOSEN = {"rappor", _MEMOISED, "binary"}
_NO_ACCURACY = "does not say how exact it is"


@dataclass(frozen=True)
class Option:
    """One mechanism for a question with k values: what it costs and how exact it is.

    `fields` are registry fields beyond `epsilon` and `values` that fix what was chosen.
    """

    mechanism: Mechanism
    k: int
    fields: Mapping[str, int]
    accuracy: Accuracy
    decode_cost: str

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self.mechanism.name

    @property
    def report_bytes(self) -> int:
        """Bytes of a report's payload, and of its cohort where it draws one."""
        return self.mechanism.payload_bytes + ceil((self.mechanism.cohorts - 1).bit_length() / 8)

    @property
    def tests(self) -> int:
        """How many tests a question is: one of two values whose shares add up to 1 exactly."""
        return 1 if self.k == 2 and self.name in _ADDING_UP else self.k

    @property
    def cells(self) -> int:
        """Cells of the tally of one day."""
        return self.mechanism.cells * self.mechanism.cohorts

    @cached_property
    def supported(self) -> float:
        """How many values a report supports on average, where the values are evenly common."""
        return float(self.accuracy.p + (self.k - 1) * self.accuracy.q)


@dataclass(frozen=True)
class Refusal:
    """A mechanism that can't be used for a question, and why."""

    name: str
    reason: str


class _Answers(Fields):
    """A metric's table whose values have been checked before: a million are not checked again."""

    def __init__(self, table: Mapping[str, Any], values: tuple[str, ...]) -> None:
        super().__init__({**table, "values": ()}, "")
        self._values = values

    def texts(self, key: str, low: int, high: int) -> tuple[str, ...]:
        """Return the values if there are `low` to `high` of them."""
        if not low <= len(self._values) <= high:
            self.problem(key, f"has {len(self._values)} entries", f"give {low} to {high}")
        return self._values


def plan_options(values: Sequence[str], epsilon: Decimal) -> tuple[list[Option], list[Refusal]]:
    """Return every mechanism that answers a question over `values` at `epsilon` a report.

    The most exact comes first. Mechanisms with memory are not among them: what they protect is
    another question. Raises RegistryError for an epsilon that no registry may have.
    """
    domain = tuple(values)
    Fields({"epsilon": epsilon}, "").epsilon("epsilon")
    options, refusals = [], []
    for name in sorted(set(BUILT_IN) - _NOT_CHOSEN):
        try:
            option = _option(name, domain, epsilon)
        except RegistryError as error:
            problem = error.problems[0]
            refusals.append(Refusal(name, f"{problem.path} {problem.what}; {problem.fix}"))
            continue
        if isinstance(option, Refusal):
            refusals.append(option)
        else:
            options.append(option)
    options.sort(key=lambda option: (option.accuracy.variance(0.0), option.report_bytes))
    return options, refusals


def memoised_option(
    values: Sequence[str], epsilon: Decimal, epsilon_infinity: Decimal
) -> Option | Refusal:
    """Return the mechanism with memory for a closed domain: what it costs and how exact it is.

    `epsilon` is that of a first report, `epsilon_infinity` bounds what all reports of one value
    ever reveal. It is compared with others, never chosen for anyone: it suits a device that answers
    every day, and does not hide whether an answer changed. Raises RegistryError for an epsilon that
    no registry may have.
    """
    targets = {"epsilon_infinity": epsilon_infinity, "epsilon_first_report": epsilon}
    for key, target in targets.items():
        Fields({key: target}, "").epsilon(key)
    try:
        mechanism = from_fields(_MEMOISED, _Answers(targets, tuple(values)))
    except RegistryError as error:
        problem = error.problems[0]
        return Refusal(_MEMOISED, f"{problem.path} {problem.what}; {problem.fix}")
    if mechanism.payload_bytes > MAX_PAYLOAD_BYTES:
        return Refusal(_MEMOISED, f"has payloads over {MAX_PAYLOAD_BYTES} bytes")
    pair = mechanism.support()
    if pair is None:
        return Refusal(_MEMOISED, _NO_ACCURACY)
    decode_cost = estimator_class(_MEMOISED).decode_cost()
    return Option(mechanism, len(values), {}, Accuracy(*pair), decode_cost)


def _option(name: str, values: tuple[str, ...], epsilon: Decimal) -> Option | Refusal:
    def build(fields: Mapping[str, int]) -> Mechanism:
        return from_fields(name, _Answers({"epsilon": epsilon, **fields}, values))

    k = len(values)
    part = estimator_class(name)
    fields = part.plan_fields(build, k)
    mechanism = build(fields)
    if mechanism.payload_bytes > MAX_PAYLOAD_BYTES:
        return Refusal(name, f"has payloads over {MAX_PAYLOAD_BYTES} bytes")
    if mechanism.cells * mechanism.cohorts > MAX_CELLS:
        return Refusal(name, f"has a tally over {MAX_CELLS} cells")
    pair = mechanism.support()
    if pair is None:
        return Refusal(name, _NO_ACCURACY)
    inflation = 1.0
    free = mechanism.free_cells()
    if free is not None:
        load = k / free
        if load > _ROOM:
            return Refusal(name, "has too few cells to tell so many values apart")
        inflation = 1 / (1 - load)
    return Option(mechanism, k, fields, Accuracy(*pair, inflation), part.decode_cost())
