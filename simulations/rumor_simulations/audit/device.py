"""A fresh device's first report, made by the very functions that an app runs.

`recorded` goes all the way through a client's `record`: enumeration follows it outcome by outcome.
`first_answer` is the one function that `record` perturbs by, for millions of devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

from rumor_client import Client, MemoryState
from rumor_client.perturbation import perturb as perturbation
from rumor_client.perturbation.perturb import Answer, new_secret, series_of
from rumor_client.perturbation.randomness import Randomness
from rumor_client.state.protocol import Identity
from rumor_client.state.report import Report
from rumor_shared.metric import MAX_ACCOUNT, Metric
from rumor_shared.registry import DEFAULT_AGE_DAYS, Registry
from rumor_shared.wire import SECRET_BYTES, length_prefixed

# What makes a client: `rumor_client.Client`, or one with a fault.
Maker = Callable[..., Client]

SECRET = bytes(range(SECRET_BYTES))
TODAY = date(2026, 1, 1)
_NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC)
_NO_POLICY = Path(__file__).with_name("no-policy.toml")


class WrongStream(RuntimeError):
    """A permanent answer is drawn from another stream than that of its value on this device."""

    def __init__(self) -> None:
        super().__init__(
            "a permanent answer is not drawn from the secret, metric, revision, cohort and value"
        )


class Made(NamedTuple):
    """All that one `record` makes: what will leave the device, and the permanent answer behind."""

    output: bytes
    permanent: bytes


def output_of(reports: list[Report]) -> bytes:
    """Return all that leaves with the reports that wait, or nothing where none was made."""
    return b"".join(
        output(report.cohort, report.payload, report.id, report.day, report.metric, report.revision)
        for report in reports
    )


def output(
    cohort: int, payload: bytes, report_id: bytes, day: date, metric: str, revision: int
) -> bytes:
    """Return the name of one report in a law: all that leaves with it, cohort and payload first."""
    rest = length_prefixed(report_id, day.isoformat(), metric, revision)
    return cohort.to_bytes(4, "little") + payload + rest


def on_its_own(metric: Metric) -> Metric:
    """Return the metric without an end or a cap, so that a first report is always made."""
    return replace(
        metric, expires=date.max, daily_epsilon=MAX_ACCOUNT, lifetime_epsilon=None, other=None
    )


class FirstReports:
    """First reports of devices with a known secret, which hold a text of `metric`."""

    def __init__(self, metric: Metric, maker: Maker = Client) -> None:
        self.metric = on_its_own(metric)
        self._maker = maker
        self._registry = Registry(
            {metric.name: self.metric}, DEFAULT_AGE_DAYS, MAX_ACCOUNT, None, 0, b""
        )

    def recorded(self, text: str, cohort: int, live: Randomness) -> Made:
        """Record `text` on a device whose cohort byte is `cohort`, with `live` as its chance.

        Raises WrongStream for a permanent answer of another device, metric or value.
        """
        state = MemoryState()
        with state.transaction() as transaction:
            identity = transaction.set_identity(SECRET, cohort)
        client = self._maker(
            self._registry,
            state=state,
            background=False,
            environ={},
            policy=_NO_POLICY,
            clock=lambda: _NOW,
            randomness=lambda: live,
        )
        client.consent.grant()
        with _permanent_chance(self.metric, text, live):
            client.record(self.metric.name, text)
        permanent = b""
        with state.transaction() as transaction, suppress(KeyError):
            permanent = transaction.last_permanent(series_of(self.metric, identity))
        return Made(output_of([item.report for item in client.waiting()]), permanent)


@contextmanager
def _permanent_chance(metric: Metric, text: str, live: Randomness) -> Iterator[None]:
    """Draw permanent answers from `live` in place of the hash of secret and value.

    The hash stands for independent chance of each value; that it is asked for the right one is
    looked at here. Raises WrongStream where it isn't.
    """

    def drawn(secret: bytes, name: str, revision: int, cohort: int, value: bytes) -> Randomness:
        asked = (secret, name, revision, value)
        known = 0 <= cohort < metric.mechanism.cohorts
        if not known or asked != (SECRET, metric.name, metric.revision, text.encode()):
            raise WrongStream
        return live

    names = vars(perturbation)
    shipped, names["permanent_randomness"] = names["permanent_randomness"], drawn
    try:
        yield
    finally:
        names["permanent_randomness"] = shipped


class _Undone(Exception):
    """Takes back all that a device would have kept."""


class FreshDevices:
    """Many devices that answer once each, by the function that `record` calls."""

    def __init__(self) -> None:
        self._state = MemoryState()
        self._nobody = Identity(SECRET, 0, 1)

    def first_answer(self, metric: Metric, text: str, live: Randomness) -> Answer:
        """Return what a fresh device answers; its secret, if it needs one, is drawn from `live`."""
        return self._answer(metric, text, live)[0]

    def permanent_answer(self, metric: Metric, text: str, live: Randomness) -> Answer:
        """Return a fresh device's permanent answer in its cohort."""
        answer, permanent = self._answer(metric, text, live)
        return Answer(answer.cohort, permanent)

    def _answer(self, metric: Metric, text: str, live: Randomness) -> tuple[Answer, bytes]:
        if not metric.mechanism.memoised:
            with self._state.transaction() as transaction:
                return perturbation.perturb(metric, text, self._nobody, transaction, live), b""
        with suppress(_Undone), self._state.transaction() as transaction:
            identity = transaction.set_identity(*new_secret(live))
            answer = perturbation.perturb(metric, text, identity, transaction, live)
            permanent = transaction.last_permanent(series_of(metric, identity))
            raise _Undone
        return answer, permanent
