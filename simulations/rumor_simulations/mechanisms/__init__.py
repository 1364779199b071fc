"""Every mechanism in simulations: how a whole population answers, what one report gives away.

Read `population_model` (what a mechanism's part does), then one of them, such as `krr`; `table`
finds it by its name.
"""

from __future__ import annotations

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.mechanisms.table import population_model
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


def population_tally(
    metric: Metric, population: PopulationCounts, rng: np.random.Generator
) -> Tally:
    """Draw the tally of one report from every device of a population, each on its first day.

    Its joint law is that of the devices' own reports. For several days of devices that keep
    permanent answers, see `rumor_simulations.sweep.drift`; `rumor_simulations.sweep.measures` plays
    the devices themselves.
    """
    return population_model(metric).tally(population, rng)


def evidence(metric: Metric, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
    """Return how much each report speaks for each text: float64 (reports, texts), in epsilon.

    It is the log-likelihood of the text up to a constant of the report, from the mechanism's exact
    law. `payloads` uint8 (reports, payload_bytes), `cohorts` int64 (reports,).
    """
    return population_model(metric).evidence(payloads, cohorts, texts)
