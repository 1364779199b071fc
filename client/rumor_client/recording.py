"""One record: check the accounts, perturb, and store debit and report in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from rumor_client.ledger import AppCaps, Limits, charges, cost, limits, refusal
from rumor_client.outbox import Bounds, put
from rumor_client.perturbation import new_id, new_secret, perturb, series_of
from rumor_client.randomness import Randomness
from rumor_client.report import Report
from rumor_client.result import RecordStatus, Result
from rumor_client.state import Transaction
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry


class Recorder:
    """Makes reports for the metrics of one registry, under its caps and the app's."""

    def __init__(
        self,
        registry: Registry,
        caps: AppCaps,
        bounds: Bounds,
        randomness: Callable[[], Randomness],
    ) -> None:
        self._registry = registry
        self._caps = caps
        self._bounds = bounds
        self._randomness = randomness
        self._limits: dict[str, Limits] = {}

    def record(self, transaction: Transaction, metric: Metric, text: str, day: date) -> Result:
        """Make a report of `metric.text_of(value)`, or write nothing and say which cap is met.

        The decision rests on counts and totals alone. The id is drawn after the perturbation, from
        the same fresh randomness.
        """
        identity = transaction.identity()
        counted = (0, 0)
        if identity is not None:
            counted = transaction.reports(series_of(metric, identity), day)
        asked = cost(metric, counted[0] + 1, counted[1] + 1)
        caps = self._caps_of(metric)
        accounts = caps.accounts(metric.name, day)
        refused = refusal(metric.name, caps, asked, transaction.spent(accounts), day)
        if refused is not None:
            return refused
        live = self._randomness()
        if identity is None:
            identity = transaction.adopt(*new_secret(live))
        transaction.charge(charges(accounts, asked))
        transaction.count(series_of(metric, identity), day)
        answer = perturb(metric, text, identity, transaction, live)
        report = Report(
            new_id(live),
            day,
            metric.name,
            metric.revision,
            answer.cohort,
            answer.payload,
            metric.purpose,
        )
        put(transaction, report, self._bounds)
        return Result(RecordStatus.RECORDED, metric.name)

    def _caps_of(self, metric: Metric) -> Limits:
        known = self._limits.get(metric.name)
        if known is None:
            known = self._limits[metric.name] = limits(self._registry, metric, self._caps)
        return known
