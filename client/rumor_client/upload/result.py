"""The result of an upload: how it ended and what it did, as `flush` returns it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class UploadStatus(StrEnum):
    """How an upload ended."""

    DONE = "done"
    """All that waited was sent and answered, though some may have to be sent again."""
    LATER = "later"
    """It has to be tried again; `retry_in` says when."""
    STOPPED = "stopped"
    """The collector refuses this client until someone mends key or endpoint."""
    TIMEOUT = "timeout"
    """Time was up."""
    ELSEWHERE = "elsewhere"
    """Another process of the app is uploading."""
    OFF = "off"
    """There is no endpoint, or no consent for some of what waits."""


@dataclass(frozen=True)
class FlushResult:
    """What a pass did, in reports; `retry_in` is in seconds, `detail` says what was wrong.

    `waiting` is what is in the outbox afterwards; `dropped` what the collector would never take.
    """

    status: UploadStatus
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    dropped: int = 0
    waiting: int = 0
    retry_in: float | None = None
    detail: str | None = None

    @property
    def delivered(self) -> int:
        """Reports the collector has counted, now or before."""
        return self.accepted + self.duplicate

    def then(self, later: FlushResult) -> FlushResult:
        """Return what this pass and a later one did together; how it ended is the later one's."""
        return replace(
            later,
            accepted=self.accepted + later.accepted,
            duplicate=self.duplicate + later.duplicate,
            rejected=self.rejected + later.rejected,
            dropped=self.dropped + later.dropped,
        )
