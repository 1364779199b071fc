"""What a mechanism's part in simulations does: play whole populations, forge reports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


@runtime_checkable
class PopulationModel(Protocol):
    """Plays whole populations of one metric, by its exact law and without playing each device."""

    def __init__(self, metric: Metric) -> None: ...

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw the tally of one report from every device, each on its first day.

        Its joint law is that of the devices' own reports.
        """
        ...

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return how much each report speaks for each text: float64 (reports, texts), in epsilon.

        It is the log-likelihood of the text up to a constant of the report. `payloads` uint8
        (reports, payload_bytes), `cohorts` int64 (reports,).
        """
        ...

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return the declared law of the payload of a first report of `text` in `cohort`, exactly.

        By the formulas and not by the client's code, so that an audit can hold it against them.
        Payloads that never come are left out. Small domains only: it lists every payload.
        """
        ...

    def scaled_metric(self) -> Metric:
        """Return the metric over a domain that is small enough to enumerate, its law unchanged."""
        ...


@runtime_checkable
class MemoisedModel(PopulationModel, Protocol):
    """Plays populations whose devices keep permanent answers."""

    def permanent_metric(self) -> Metric:
        """Return a metric whose reports are the permanent answers of this one, of their epsilon."""
        ...


@runtime_checkable
class Forger(Protocol):
    """Makes the reports of fake devices: what the model of a pure mechanism does as well."""

    def forged(self, count: int, rng: np.random.Generator) -> list[bytes]:
        """Return payloads that the collector takes, every possible one equally likely."""
        ...

    def supporting(
        self, targets: Sequence[str], count: int, rng: np.random.Generator, *, hidden: bool
    ) -> list[bytes]:
        """Return payloads that support most of `targets` at once.

        `hidden`: as far as an honest report's weight allows, where reports have one.
        """
        ...
