"""Which mechanism to take, and why, in words.

The most exact one is not always the one to take: a report that counts for many invites forgery, a
report that names one value of many is a clue to who sent it, and a report ten times as long for one
percent of exactness is paid by every device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt

from rumor_server.planner.options import Option, Refusal, plan_options

# A forged report may count for four times as many honest ones as under the mechanism that resists
# best (formulas 8: at epsilon 1 krr over 1,024 values has 596, oue 3.2, hadamard 2.2).
_INFLUENCE = 4.0
# Reports that name one value, mostly the true one, re-identify people by rare values (formulas 6:
# 33% of them against 5% for oue); over few values there is nobody to single out. A true answer half
# of the time is what oue gives, and pgr on a line but for rounding.
_NAMES_ONE = 2.0
_MOSTLY_TRUE = 0.51
_MANY_VALUES = 32
# A standard deviation within 2.5% of the best is as good: 5% more devices make up for it.
_AS_GOOD = 1.025


class PlanError(ValueError):
    """No mechanism meets what was asked; `field` names what to change."""

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field}: {what}")


@dataclass(frozen=True)
class Plan:
    """All options for a question, the one to take, the reason, and why others were passed over.

    `passed_over` has the name of each more exact option that is not to be taken, with the price in
    devices of taking another.
    """

    options: Sequence[Option]
    refusals: Sequence[Refusal]
    chosen: Option
    reason: str
    passed_over: Mapping[str, str]


def plan(values: Sequence[str], epsilon: Decimal, *, max_bytes: int | None = None) -> Plan:
    """Compare every mechanism for a question over `values` at `epsilon` a report, and choose one.

    The choice does not depend on how many devices there are. Raises PlanError where no report is
    short enough, RegistryError for an epsilon that no registry may have.
    """
    if len(values) < 2:
        raise PlanError("values", "a question needs two answers or more")
    options, refusals = plan_options(values, epsilon)
    if not options:
        raise PlanError("values", "no mechanism takes so many; ask about fewer values")
    passed_over: dict[str, str] = {}
    short = [o for o in options if max_bytes is None or o.report_bytes <= max_bytes]
    if not short:
        least = min(options, key=lambda o: o.report_bytes)
        raise PlanError("max_bytes", f"the shortest report, of {least.name}, has {_bytes(least)}")
    steadiest = min(o.accuracy.influence for o in options)
    sound = []
    for option in short:
        concern = _concern(option, steadiest)
        if concern is None:
            sound.append(option)
        else:
            passed_over[option.name] = concern
    if not sound:
        # Only options with a concern are short enough: the least bad one, said so.
        chosen = min(short, key=lambda o: (o.accuracy.influence, o.accuracy.variance(0.0)))
        concern = passed_over.pop(chosen.name)
        reason = f"{chosen.name} is all that fits into {max_bytes} bytes, though {concern}"
        return Plan(options, refusals, chosen, reason, _priced(passed_over, options, chosen))
    best = sound[0]
    good = [o for o in sound if _ratio(o, best) <= _AS_GOOD]
    chosen = min(good, key=lambda o: (o.report_bytes, o.accuracy.variance(0.0)))
    for option in options[: options.index(chosen)]:
        if option not in short:
            passed_over[option.name] = f"its report has {_bytes(option)}"
        elif option in good:
            passed_over[option.name] = (
                f"its report has {_bytes(option)}, and the standard deviation is only "
                f"{_percent(_ratio(chosen, option) - 1)} lower"
            )
    priced = _priced(passed_over, options, chosen)
    return Plan(options, refusals, chosen, _reason(chosen, best, good), priced)


def _priced(
    passed_over: Mapping[str, str], options: Sequence[Option], chosen: Option
) -> dict[str, str]:
    """Add to each reason what it costs: how many more devices make up for the lost exactness."""
    priced = dict(passed_over)
    for option in options:
        if option.name in priced:
            more = _ratio(chosen, option) ** 2 - 1
            if more > 0:
                priced[option.name] += f"; {chosen.name} needs {_percent(more)} more devices for it"
    return priced


def _ratio(option: Option, other: Option) -> float:
    return sqrt(option.accuracy.variance(0.0) / other.accuracy.variance(0.0))


def _concern(option: Option, steadiest: float) -> str | None:
    influence = option.accuracy.influence
    if influence > _INFLUENCE * steadiest:
        return (
            f"one forged report counts for {influence:.3g} honest ones "
            f"(the mechanism that resists best allows {steadiest:.3g})"
        )
    clear = option.supported < _NAMES_ONE and option.accuracy.p > _MOSTLY_TRUE
    if clear and option.k >= _MANY_VALUES:
        return (
            f"a report names one of {option.k} values, and with probability "
            f"{float(option.accuracy.p):.0%} the true one"
        )
    return None


def _reason(chosen: Option, best: Option, good: Sequence[Option]) -> str:
    size = f"a report of {_bytes(chosen)}"
    if chosen is best and len(good) == 1:
        return f"{chosen.name} is the most exact of those that are safe to use, with {size}"
    if chosen is best:
        return (
            f"{chosen.name} is the most exact, and none that is as good has a shorter report than "
            f"its {_bytes(chosen)}"
        )
    return (
        f"{chosen.name} comes within {_percent(_ratio(chosen, best) - 1)} of the most exact "
        f"({best.name}, {_bytes(best)}) with {size}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _bytes(option: Option) -> str:
    return f"{option.report_bytes} byte{'s' if option.report_bytes > 1 else ''}"
