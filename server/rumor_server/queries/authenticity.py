"""The authenticity report of a revision: odd reports, checks, and what fakes could do.

It stands beside the estimates, in the API and on the dashboard, in the same words.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rumor_server.statistics.authenticity.checks import check_crowd, fake_shift
from rumor_server.statistics.authenticity.report_weights import WeightCounts
from rumor_server.statistics.authenticity.weight_law import weight_law
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric

# What one fake in a hundred reports could do is told unless another share is asked for.
DEFAULT_FAKE_SHARE = 0.01


class CheckResult(BaseModel):
    """One law that honest reports obey."""

    model_config = ConfigDict(frozen=True)

    name: str
    p_value: float = Field(description="of looking at least as odd as this, for an honest crowd")
    suspicious: bool


class Authenticity(BaseModel):
    """Whether a revision's reports look like perturbed answers, and what fakes could have done."""

    model_config = ConfigDict(frozen=True)

    revision: int
    looked_at: int = Field(description="reports whose weight was looked at")
    light: int = Field(description="of these, how many set fewer bits than honest ones do")
    heavy: int = Field(description="of these, how many set more bits than honest ones do")
    expected_odd: float = Field(description="how many light and heavy ones an honest crowd has")
    checks: list[CheckResult]
    fake_share: float = Field(description="if this share of the reports were fakes,")
    shift_up: float = Field(description="they could raise any one frequency by so much")
    shift_down: float = Field(description="or lower it by so much")


def authenticity_report(
    metric: Metric, tally: Tally, weights: WeightCounts, repeats: int, fake_share: float
) -> Authenticity:
    """Return what is told of a tally with reports.

    `weights` are those of its reports that were looked at, `repeats` bounds how many of them one
    device made, `fake_share` is the share of fakes whose effect is told.
    """
    law = weight_law(metric.mechanism)
    shift = fake_shift(metric.mechanism, fake_share)
    return Authenticity(
        revision=metric.revision,
        looked_at=weights.reports,
        light=weights.light,
        heavy=weights.heavy,
        expected_odd=0.0 if law is None else weights.reports * (law.light_rate + law.heavy_rate),
        checks=[
            CheckResult(name=one.name, p_value=one.p_value, suspicious=one.suspicious)
            for one in check_crowd(metric.mechanism, tally, weights, repeats)
        ],
        fake_share=shift.share,
        shift_up=shift.up,
        shift_down=shift.down,
    )
