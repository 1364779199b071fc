"""What a wanted accuracy needs: how many devices, or how much epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from rumor_server.planner.options import Option
from rumor_server.planner.recommendation import Plan, PlanError, plan
from rumor_shared.epsilon import MICRO
from rumor_shared.fields import MAX_EPSILON, MIN_EPSILON

# Epsilon is found to three decimals: as fine as the least epsilon a registry may have.
_STEP = MIN_EPSILON


@dataclass(frozen=True)
class Target:
    """A share of 1: the standard deviation wanted ("accuracy"), or a share to find ("detect").

    Finding is meant with 95% power after Bonferroni at .05 over all values.
    """

    kind: Literal["accuracy", "detect"]
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise PlanError(self.kind, "is a share between 0 and 1; give for example 0.001")

    def devices(self, option: Option) -> int:
        """Return how many reports of an option reach the target."""
        if self.kind == "accuracy":
            return option.accuracy.devices_for_deviation(self.share)
        return option.accuracy.devices_for_detection(self.share, option.tests, power=0.95)


def devices_needed(
    values: Sequence[str], epsilon: Decimal, target: Target, *, max_bytes: int | None = None
) -> tuple[Plan, int]:
    """Return the plan, and how many devices reach the target under the mechanism it chooses.

    Raises as `plan`.
    """
    made = plan(values, epsilon, max_bytes=max_bytes)
    return made, target.devices(made.chosen)


def epsilon_needed(
    values: Sequence[str], devices: int, target: Target, *, max_bytes: int | None = None
) -> tuple[Plan, Decimal]:
    """Return the plan at the least epsilon (three decimals) whose choice reaches the target.

    Found by halving: accuracy rises with epsilon but for steps of a few percent between fields of
    pgr, so a slightly smaller epsilon may do. Raises PlanError where no epsilon up to 16 does.
    """
    low, high = 0, MAX_EPSILON // _STEP
    reached: tuple[Plan, Decimal] | None = None
    while high - low > 1 or reached is None:
        middle = high if reached is None else (low + high) // 2
        epsilon = Decimal(middle * _STEP) / MICRO
        made = plan(values, epsilon, max_bytes=max_bytes)
        if target.devices(made.chosen) <= devices:
            reached, high = (made, epsilon), middle
        elif reached is None:
            raise PlanError("devices", f"{devices} do not reach this at any epsilon; ask more")
        else:
            low = middle
    return reached
