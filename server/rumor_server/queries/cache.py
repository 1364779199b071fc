"""Every number of the dashboard comes through here: the rules of `release`, and a memory.

A decode of many candidates takes seconds and a page asks for many, yet an estimate is a pure
function of its tallies: it is kept under their hash, so that a permalink is answered at once and is
never out of date.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date

from rumor_server.errors import BadRequest
from rumor_server.queries.candidate_lists import CandidateList
from rumor_server.queries.service import Status, most_reports
from rumor_server.statistics.estimation import Estimates, combine
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_server.storage.store import Store
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import Metric

# Eight arrays of float64 and a text each: some 150 MB of estimates at most.
_KEPT_ROWS = 1_000_000


@dataclass(frozen=True)
class Question:
    """What is asked of a metric. `metrics` are revisions of equal values, the newest last."""

    metrics: tuple[Metric, ...]
    left_out: tuple[Metric, ...]
    candidates: CandidateList | None
    alpha: float

    @property
    def newest(self) -> Metric:
        """The revision whose values and words the answer has."""
        return self.metrics[-1]

    @property
    def is_open(self) -> bool:
        """Whether any text may be recorded, so that rows need candidates."""
        return self.newest.mechanism.values is None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that rows are for."""
        return self.newest.mechanism.values or (self.candidates.texts if self.candidates else ())


@dataclass(frozen=True)
class Measured:
    """The answer for some days. Withheld or without data, `estimates` has no numbers.

    `revisions` are those that had reports; `missing` is how many reports a release still lacks.
    """

    status: Status
    n: int
    missing: int
    revisions: tuple[int, ...]
    estimates: Estimates


def ask(
    revisions: Sequence[Metric],
    name: str,
    *,
    revision: int | None = None,
    candidates: CandidateList | None = None,
    alpha: float,
) -> Question:
    """Return the question of a metric's revision, or of all that have the newest one's values.

    `revisions` are all that were declared under the name, the newest last. Raises UnknownMetric for
    what was never declared, BadRequest for candidates of a closed domain.
    """
    declared = [m for m in revisions if revision in (None, m.revision)]
    if not declared:
        raise UnknownMetric(name)
    values = declared[-1].mechanism.values
    if candidates is not None and values is not None:
        raise BadRequest(
            "query.candidates: this metric lists its values itself; remove the parameter"
        )
    alike = tuple(m for m in declared if m.mechanism.values == values)
    left_out = tuple(m for m in declared if m not in alike)
    return Question(alike, left_out, candidates, alpha)


class Measurements:
    """Estimates of a store, remembered. Safe for many threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, Measured] = OrderedDict()
        self._rows = 0
        self._lock = threading.Lock()
        # One decode at a time: several would only share the cores that also take in reports.
        self._decoding = threading.Lock()

    def measure(self, question: Question, first: date, last: date) -> Measured:
        """Return the estimates over the days from `first` to `last`, inclusive.

        Raises BadRequest for candidates that no device could have recorded.
        """
        tallies = [self._store.tally(metric, first, last) for metric in question.metrics]
        days = shared_days(self._store.days(question.newest.name), first, last)
        key = _key(question, tallies, days)
        kept = self._recall(key)
        if kept is not None:
            return kept
        with self._decoding if question.is_open else nullcontext():
            kept = self._recall(key)
            if kept is None:
                kept = _measure(question, tallies, days)
                self._keep(key, kept)
        return kept

    def _recall(self, key: str) -> Measured | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, measured: Measured) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = measured
                self._rows += _weight(measured)
            while self._rows > _KEPT_ROWS and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._rows -= _weight(oldest)


def _weight(measured: Measured) -> int:
    return 1 + len(measured.estimates.values)


def shared_days(bounds: tuple[date, date] | None, first: date, last: date) -> int:
    """Return how many days a period shares with the days that have data."""
    if bounds is None:
        return 0
    return max((min(last, bounds[1]) - max(first, bounds[0])).days + 1, 0)


def _key(question: Question, tallies: Sequence[Tally], days: int) -> str:
    digest = hashlib.blake2b(digest_size=32)
    sha256 = question.candidates.sha256 if question.candidates else ""
    digest.update(f"{question.alpha!r}|{sha256}|{days}".encode())
    for metric, tally in zip(question.metrics, tallies, strict=True):
        digest.update(f"|{metric.fingerprint}|{metric.min_reports}|".encode())
        digest.update(tally.reports.tobytes())
        digest.update(tally.counts.tobytes())
    return digest.hexdigest()


def _measure(question: Question, tallies: Sequence[Tally], days: int) -> Measured:
    """Estimate by the same rules as `release`, of which a test holds this to be an equal."""
    newest, alpha = question.newest, question.alpha
    n = sum(tally.n for tally in tallies)
    pairs = list(zip(question.metrics, tallies, strict=True))
    counted = [(metric, tally) for metric, tally in pairs if tally.n]
    revisions = tuple(metric.revision for metric, _ in counted)
    if newest.min_reports > 1 and n < newest.min_reports:
        nothing = Estimates.empty(question.values, alpha)
        return Measured(Status.WITHHELD, n, newest.min_reports - n, revisions, nothing)
    texts = question.candidates.texts if question.candidates else None
    try:
        estimates = combine(
            [
                estimate_metric(
                    metric, tally, texts, alpha=alpha, repeats=most_reports(metric, days, tally.n)
                )
                for metric, tally in counted or pairs[-1:]
            ]
        )
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return Measured(Status.OK if n else Status.NO_DATA, n, 0, revisions, estimates)
