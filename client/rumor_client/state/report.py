"""The report record: one perturbed answer, with what the wire and the owner's view need."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from rumor_shared.wire import Verdict

# What a row of the outbox takes beside its payload, so that `max_bytes` bounds the file and not
# only the payloads: measured at 110 to 140 bytes with names of ten letters.
OVERHEAD_BYTES = 128

# An answer that found the state locked for too long: no report was made of it.
BUSY = "busy"

# The names under which reports are counted that the collector never answered for good. A report
# that was on its way when it was dropped may have been counted: its name is "unconfirmed:" and one
# of these, until an answer comes after all.
DENIED = "denied"
TOO_OLD = "too_old"
TOO_FAR_AHEAD = "too_far_ahead"
OUTBOX_FULL = "outbox_full"
REFUSED = "refused"
TOO_LARGE = "too_large"


@dataclass(frozen=True)
class Report:
    """One perturbed answer. `id` is 16 random bytes that were drawn after the payload.

    `purpose` never leaves the device: it tells which consent the report was made under.
    """

    id: bytes
    day: date
    metric: str
    revision: int
    cohort: int
    payload: bytes = field(repr=False)
    purpose: str

    @property
    def stored_bytes(self) -> int:
        """What the report counts for in the outbox."""
        return len(self.payload) + OVERHEAD_BYTES


class Waiting(NamedTuple):
    """A report in the outbox; its `position` tells older from newer on the device alone."""

    position: int
    report: Report


class Sent(NamedTuple):
    """A report that left the device.

    `verdict` is the collector's; None where no answer came before the report was dropped, and
    `reason` then says why it was dropped. Else it is the collector's `Reason`, if it gave one.
    """

    report: Report
    verdict: Verdict | None
    reason: str | None

    @property
    def may_count(self) -> bool:
        """Whether the collector may have counted it."""
        return self.verdict is not Verdict.REJECTED


def rejection(reason: str | None) -> str:
    """Return the name under which a rejected report is counted as dropped."""
    return f"rejected:{reason or 'unknown'}"


def unconfirmed(reason: str) -> str:
    """Return the name under which a report is counted that was dropped while on its way."""
    return f"unconfirmed:{reason}"
