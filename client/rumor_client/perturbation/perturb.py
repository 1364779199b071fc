"""Perturbation of one value: its cohort, its permanent answer if there is one, and fresh noise.

A memoised mechanism answers from a permanent answer that is derived from the device secret and the
value, so only a keyed tag is stored for each value that has one, to count them. A value beyond the
mechanism's `max_values` answers from the slot that was filled last, whose permanent answer is
stored: what its reports cost was paid when the slot was filled.
"""

from __future__ import annotations

from typing import NamedTuple

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness, permanent_randomness
from rumor_client.state.protocol import Identity, Transaction
from rumor_shared.budget import Series
from rumor_shared.metric import Metric
from rumor_shared.probability import HALF
from rumor_shared.wire import ID_BYTES, SECRET_BYTES, length_prefixed

MEMO_LABEL = "rumor/memo/1"
TAG_BYTES = 16


class Answer(NamedTuple):
    """A perturbed answer, before it gets an id."""

    cohort: int
    payload: bytes


def new_secret(live: Randomness) -> tuple[bytes, int]:
    """Draw a device secret of 32 bytes and the byte that decides its cohorts."""
    return _random_bytes(live, SECRET_BYTES), _random_bytes(live, 1)[0]


def new_id(live: Randomness) -> bytes:
    """Draw a report id: 16 random bytes."""
    return _random_bytes(live, ID_BYTES)


def _random_bytes(live: Randomness, size: int) -> bytes:
    return live.bits(8 * size, 0, 0, HALF).to_bytes(size, "little")


def series_of(metric: Metric, identity: Identity) -> Series:
    """Return the series a report of `metric` belongs to."""
    return Series(identity.epoch, metric.name, metric.revision, metric.mechanism.cohorts)


def perturb(
    metric: Metric, text: str, identity: Identity, memo: Transaction, live: Randomness
) -> Answer:
    """Return the perturbed answer to `metric.text_of(value)`.

    May store a new value's tag and permanent answer through `memo`.
    """
    mechanism = metric.mechanism
    if not mechanism.memoised:
        cohort = live.below(mechanism.cohorts) if mechanism.cohorts > 1 else 0
        return Answer(cohort, perturber(metric).perturb(text, cohort, live))
    part = memoised_perturber(metric)
    # Cohort counts are powers of two up to 256: a smaller one takes the low bits.
    cohort = identity.cohort & (mechanism.cohorts - 1)
    series = series_of(metric, identity)
    tag = _tag(metric, text, identity)
    filled = memo.slots(series)
    if tag not in filled and len(filled) >= mechanism.max_values:
        permanent = memo.last_permanent(series)
    else:
        value = text.encode("utf-8", "strict")
        randomness = permanent_randomness(
            identity.secret, metric.name, metric.revision, cohort, value
        )
        permanent = part.permanent(text, cohort, randomness)
        if tag not in filled:
            memo.fill_slot(series, tag, permanent)
    return Answer(cohort, part.instantaneous(permanent, live))


def _tag(metric: Metric, text: str, identity: Identity) -> bytes:
    import hashlib  # a device without permanent answers needs neither
    import hmac

    message = length_prefixed(
        MEMO_LABEL, metric.name, metric.revision, metric.mechanism.cohorts, text
    )
    return hmac.digest(identity.secret, message, hashlib.sha256)[:TAG_BYTES]
