"""What the device's owner can ask: what holds, what is spent, what waits, what was dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rumor_client.consent import Effective


@dataclass(frozen=True)
class Status:
    """The state of a client. All epsilon are micro-epsilon.

    `spent_today` and `spent_life` are the totals over all metrics; the caps are the stricter of the
    registry's and the app's, None where there is none. `stopped` says why the collector refuses
    this client, if it does. `erasure_pending` is True while deleted bytes may still be in the file.
    """

    consent: Mapping[str, Effective]
    spent_today: int
    daily_cap: int
    spent_life: int
    lifetime_cap: int | None
    waiting: int
    waiting_bytes: int
    sent: int
    dropped: Mapping[str, int]
    stopped: str | None
    erasure_pending: bool
