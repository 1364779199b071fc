"""Faults in what a device does around its perturbation: cohort, id, secret, generator."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from zlib import crc32

import pytest

from rumor_client.perturbation import perturb as perturbation
from rumor_client.perturbation import randomness
from rumor_client.perturbation.mechanisms.table import perturber
from rumor_client.perturbation.perturb import Answer
from rumor_client.perturbation.randomness import Randomness
from rumor_client.recording import recorder
from rumor_client.recording.result import RecordStatus, Result
from rumor_client.state.protocol import Identity, Transaction
from rumor_shared.metric import Metric

_perturb = perturbation.perturb
_report = recorder.Recorder._report
_fetch = Randomness._fetch


def _cohort_by_value(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """The cohort is one of two that the value says, where it should be any."""
    answer = _perturb(metric, text, identity, memo, live)
    if metric.mechanism.memoised or metric.mechanism.cohorts == 1:
        return answer
    cohort = (crc32(text.encode()) + live.below(2)) % metric.mechanism.cohorts
    part = perturber(metric)
    return Answer(cohort, part.perturb(text, cohort, live))


def _kept_cohort_by_value(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """The kept cohort follows from the value, where it should from the device."""
    other = identity._replace(cohort=crc32(text.encode()) & 0xFF)
    return _perturb(metric, text, other, memo, live)


def _one_cohort(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """The cohort is not drawn: private, but the collector counts on all of them."""
    answer = _perturb(metric, text, identity, memo, live)
    if metric.mechanism.memoised:
        return answer
    return Answer(0, perturber(metric).perturb(text, 0, live))


def _without_secret(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """Permanent answers are the same on every device."""
    return _perturb(metric, text, identity._replace(secret=bytes(32)), memo, live)


def _value_in_the_payload(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """A last touch flips a bit of the payload for values that end in an even digit."""
    answer = _perturb(metric, text, identity, memo, live)
    if ord(text[-1:] or "1") % 2:
        return answer
    return answer._replace(payload=bytes((answer.payload[0] ^ 1, *answer.payload[1:])))


def _in_all_reports(perturb: Callable[..., Answer]) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(perturbation, "perturb", perturb)
        patch.setattr(recorder, "perturb", perturb)

    return plant


def _id_by_value(patch: pytest.MonkeyPatch) -> None:
    """A report's id begins with the value's checksum."""
    held: list[str] = [""]

    def perturb(metric: Metric, text: str, *rest: Any) -> Answer:
        held[0] = text
        return _perturb(metric, text, *rest)

    patch.setattr(recorder, "perturb", perturb)
    patch.setattr(
        recorder, "new_id", lambda live: crc32(held[0].encode()).to_bytes(4, "little") + bytes(12)
    )


def _silent_for_a_value(patch: pytest.MonkeyPatch) -> None:
    """No report is made of one value, though `record` says so."""

    def report(self: Any, transaction: Transaction, metric: Metric, text: str, day: Any) -> Result:
        if crc32(text.encode()) % 3 == 0:
            return Result(RecordStatus.RECORDED, metric.name)
        return _report(self, transaction, metric, text, day)

    patch.setattr(recorder.Recorder, "_report", report)


def _day_by_value(patch: pytest.MonkeyPatch) -> None:
    """The report of some values is dated a day back."""

    def report(self: Any, transaction: Transaction, metric: Metric, text: str, day: Any) -> Result:
        back = timedelta(days=ord(text[-1:] or "1") % 2)
        return _report(self, transaction, metric, text, day - back)

    patch.setattr(recorder.Recorder, "_report", report)


def _secret_by_value(patch: pytest.MonkeyPatch) -> None:
    """A device's secret follows from the first value that it answers with."""

    def report(self: Any, transaction: Transaction, metric: Metric, text: str, day: Any) -> Result:
        def new_secret(live: Randomness) -> tuple[bytes, int]:
            return crc32(text.encode()).to_bytes(32, "little"), 0

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(recorder, "new_secret", new_secret)
            return _report(self, transaction, metric, text, day)

    patch.setattr(recorder.Recorder, "_report", report)


def _one_secret(patch: pytest.MonkeyPatch) -> None:
    """All devices have one secret."""
    patch.setattr(recorder, "new_secret", lambda live: (bytes(32), live.below(256)))


def _clock_seeded(patch: pytest.MonkeyPatch) -> None:
    """Chance comes from a generator that is seeded with the clock."""
    patch.setattr(
        randomness, "_system_bytes", lambda size: random.Random(time.time_ns()).randbytes(size)
    )


def _little_entropy(patch: pytest.MonkeyPatch) -> None:
    """A generator is seeded with four bytes of the operating system."""
    patch.setattr(
        randomness, "_system_bytes", lambda size: random.Random(os.urandom(4)).randbytes(size)
    )


def _process_mixed_in(patch: pytest.MonkeyPatch) -> None:
    """The process number is mixed into the operating system's bytes."""

    def read(size: int) -> bytes:
        return bytes(octet ^ os.getpid() & 0xFF for octet in os.urandom(max(64, 12 * size)))

    patch.setattr(randomness, "_system_bytes", read)


def _remainder(patch: pytest.MonkeyPatch) -> None:
    """A uniform choice is a remainder, so the first ones come more often."""

    def below(self: Randomness, n: int) -> int:
        size = ((n - 1).bit_length() + 7) // 8
        return int.from_bytes(_fetch(self, size)[:size], "little") % n if n > 1 else 0

    patch.setattr(Randomness, "below", below)


def _or_equal(patch: pytest.MonkeyPatch) -> None:
    """A Bernoulli draw succeeds where the number equals its threshold too."""
    bernoulli = Randomness.bernoulli
    patch.setattr(Randomness, "bernoulli", lambda self, n: bernoulli(self, n + 1))


# Those that the exact law of what leaves the device shows, with a mechanism that shows them.
LAW_FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "cohort says two bits of the value's checksum": (
        "local_hashing",
        _in_all_reports(_cohort_by_value),
    ),
    "cohort is not drawn": ("hcms", _in_all_reports(_one_cohort)),
    "kept cohort follows from the value": ("rappor", _in_all_reports(_kept_cohort_by_value)),
    "permanent answers need no secret": ("rappor", _in_all_reports(_without_secret)),
    "payload is changed by the value": ("oue", _in_all_reports(_value_in_the_payload)),
    "id begins with the value's checksum": ("krr", _id_by_value),
    "no report of some values": ("krr", _silent_for_a_value),
    "day says the value": ("binary", _day_by_value),
}

# A fault may draw more, and so have many more outcomes.
FEW_COHORTS: dict[str, dict[str, int]] = {
    "local_hashing": {"cohorts": 8},
    "hcms": {"cohorts": 4, "columns": 4},
    "rappor": {"cohorts": 4, "bits": 4},
}

# Those that no law of draws can show: they are in where the draws come from.
SOURCE_FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "secret follows from the value": _secret_by_value,
    "one secret for all devices": _one_secret,
    "generator seeded with the clock": _clock_seeded,
    "generator seeded with four bytes": _little_entropy,
    "process number mixed in": _process_mixed_in,
    "remainder in place of rejection": _remainder,
    "less or equal in place of less": _or_equal,
}


@contextmanager
def planted(plant: Callable[[pytest.MonkeyPatch], None]) -> Iterator[None]:
    """Let the installed client have a fault for a while."""
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        yield
