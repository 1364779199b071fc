"""The recorder: asks for consent, checks the accounts, perturbs, and stores debit and report in
one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from time import monotonic

from rumor_client.consent.consent import Consent
from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.perturbation.mechanisms.table import perturber
from rumor_client.perturbation.perturb import new_id, new_secret, perturb, series_of
from rumor_client.perturbation.randomness import Randomness
from rumor_client.process.clock import Clock
from rumor_client.process.log_once import log_once
from rumor_client.recording.ledger import AppCaps, Limits, charges, cost, limits, refusal
from rumor_client.recording.outbox import Bounds, put
from rumor_client.recording.result import RecordStatus, Result
from rumor_client.state.protocol import LOCK_WAIT, State, Transaction
from rumor_client.state.report import BUSY, Report
from rumor_shared.days import utc_day
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry


class Recorder:
    """Makes reports for the metrics of one registry, under its caps and the app's."""

    def __init__(
        self,
        registry: Registry,
        caps: AppCaps,
        bounds: Bounds,
        *,
        state: State,
        consent: Consent,
        clock: Clock,
        randomness: Callable[[], Randomness],
    ) -> None:
        self._registry = registry
        self._caps = caps
        self._bounds = bounds
        self._state = state
        self._consent = consent
        self._clock = clock
        self._randomness = randomness
        self._limits: dict[str, Limits] = {}
        self._closed = False
        # Purposes that the last transaction found granted: only the others are looked up before.
        self._granted: set[str] = set()
        # One entry an answer that found the state locked: appending is safe between threads.
        self._busy: list[None] = []
        # By metric, in this process alone: in the file it would say what the owner's answer was.
        self.became_other: dict[str, int] = {}
        self._load()

    def _load(self) -> None:
        """Load what a report of any metric needs: later there may be nothing to load it from."""
        for metric in self._registry.metrics.values():
            perturber(metric)
            if metric.mechanism.memoised:
                import hashlib  # noqa: F401 - what a permanent answer is derived with
                import hmac  # noqa: F401 - the same
            if metric.mechanism.values is None:
                import rumor_shared.unicode_13  # noqa: F401 - what text in any script needs

    def close(self) -> None:
        """Record nothing more."""
        self._closed = True

    def record(self, metric: str, value: object) -> Result:
        """Perturb `value` and store the report, if there is consent and budget for it.

        Raises UnknownMetric, InvalidValue, and ValueError for a naive clock: see `Client.record`.
        """
        declared = self._registry.metric(metric)
        if self._closed:
            return Result(RecordStatus.CLOSED, metric)
        # A mistake of the app's shows before anyone has agreed to anything.
        text = declared.text_of(value)
        if text == declared.other and not declared.is_value(value):
            self.became_other[metric] = self.became_other.get(metric, 0) + 1
        day = utc_day(self._clock())
        deadline = monotonic() + LOCK_WAIT
        try:
            if declared.purpose not in self._granted and not self._may_be_granted(declared.purpose):
                return Result(RecordStatus.NO_CONSENT, metric)
            if declared.expired(day):
                return Result(RecordStatus.EXPIRED, metric)
            return self._state.run(
                lambda transaction: self._decide(transaction, declared, text, day),
                max(0.0, deadline - monotonic()),
            )
        except StateBusy:
            # Counted in the file by the next report that finds its way in.
            self._busy.append(None)
            return Result(RecordStatus.BUSY, metric)
        except StateUnavailable as error:
            log_once("unavailable", f"rumor: {error}")
            return Result(RecordStatus.UNAVAILABLE, metric)
        except (ImportError, OSError) as error:
            log_once("unavailable", f"rumor: a part of the client failed: {type(error).__name__}")
            return Result(RecordStatus.UNAVAILABLE, metric)

    def _may_be_granted(self, purpose: str) -> bool:
        """Return whether there is consent, so that no file is made and no lock taken without.

        True also where another thread holds the state: what the transaction finds is what counts.
        """
        try:
            return self._consent.resolve(purpose, self._state.choices(0.0)).granted
        except StateBusy:
            return True

    def busy(self) -> int:
        """Return how many answers were `busy` since the last that was stored."""
        return len(self._busy)

    def _decide(self, transaction: Transaction, metric: Metric, text: str, day: date) -> Result:
        """Report, unless another process has denied since."""
        stored = transaction.choices()
        if not self._consent.resolve(metric.purpose, stored).granted:
            self._granted.discard(metric.purpose)
            return Result(RecordStatus.NO_CONSENT, metric.name)
        self._granted.add(metric.purpose)
        return self._report(transaction, metric, text, day)

    def _report(self, transaction: Transaction, metric: Metric, text: str, day: date) -> Result:
        """Make a report of `metric.text_of(value)`, or write nothing and say which cap is met.

        The decision rests on counts and totals alone. The id is drawn after the perturbation, from
        the same fresh randomness.
        """
        identity = transaction.identity()
        counted = 0
        if identity is not None:
            counted, _ = transaction.reports(series_of(metric, identity), day)
        asked = cost(metric, counted + 1)
        caps = self._caps_of(metric)
        accounts = caps.accounts(day)
        refused = refusal(metric.name, caps, asked, transaction.spent(accounts), day)
        if refused is not None:
            return refused
        live = self._randomness()
        if identity is None:
            identity = transaction.set_identity(*new_secret(live))
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
        self._count_busy(transaction)
        return Result(RecordStatus.RECORDED, metric.name)

    def _count_busy(self, transaction: Transaction) -> None:
        busy = 0
        while self._busy:
            self._busy.pop()
            busy += 1
        if busy:
            transaction.lose(BUSY, busy)

    def _caps_of(self, metric: Metric) -> Limits:
        known = self._limits.get(metric.name)
        if known is None:
            known = self._limits[metric.name] = limits(self._registry, metric, self._caps)
        return known
