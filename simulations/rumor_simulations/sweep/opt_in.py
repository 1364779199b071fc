"""Opt-in bias, which no estimator mends: those who agree are not like those who do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumor_simulations.crowd import Crowd
from rumor_simulations.populations.named import population
from rumor_simulations.sweep.measures import draw_tally, estimated
from rumor_simulations.sweep.setting import Setting, sweep_metric

# Half of all devices agree; `tilt` is how much likelier those with the commonest value are to.
CONSENT = 0.5


def measure_opt_in(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Return one row on the commonest value: its share among all, among those asked, estimated.

    Devices with the commonest value agree with .5 (1 + tilt), all others with .5 (1 - tilt).
    """
    rng = np.random.default_rng(seed)
    everyone = Crowd.drawn(population(setting.population, setting.k), setting.n, rng)
    tilt = float(setting.extra["tilt"])
    agree = np.full(len(everyone.texts), CONSENT * (1 - tilt))
    agree[0] = CONSENT * (1 + tilt)
    willing = Crowd(everyone.texts, rng.binomial(everyone.counts, agree))
    metric = sweep_metric(setting.mechanism, setting.epsilon, everyone.texts)
    estimates = estimated(metric, draw_tally(setting, metric, willing, rng), willing)
    truth, asked = float(everyone.shares[0]), float(willing.shares[0])
    return [
        {
            **setting.columns,
            "share": truth,
            "share_of_willing": asked,
            "estimate": float(estimates.frequency[0]),
            "std_error": float(estimates.std_error[0]),
            "holds_share": bool(estimates.low[0] <= truth <= estimates.high[0]),
            "holds_willing": bool(estimates.low[0] <= asked <= estimates.high[0]),
        }
    ]
