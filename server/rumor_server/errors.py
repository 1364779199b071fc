"""Every error the collector raises on purpose.

RumorError (shared)
├── BadRequest           the request can't be answered; carries its HTTP status
├── AccessRefused        no key, a wrong one, or one for something else
├── TooManyRequests      a limit of a key or an address is used up
├── Overloaded           more waits than the queue may hold; nothing was written
├── StoreError           the database can't be used
│   ├── StoreUnavailable a commit failed, or nobody knows whether it did
│   ├── DiskAlmostFull   too little space is left to promise durability
│   ├── UnknownSchema    the file is not ours, or of a version we don't know
│   └── ChangedMeaning   a metric changed and its revision did not
├── SettingsError        a setting is wrong
├── CantListen           the host and port can't be listened on
└── KeyProblem           a key can't be made or isn't known

No message repeats anything that a client submitted.
"""

from __future__ import annotations

import logging

from rumor_shared.errors import RumorError
from rumor_shared.os_errors import explain_listening


class BadRequest(RumorError):
    """The request can't be answered. `status` is the HTTP status, `detail` says what to do."""

    def __init__(self, status: int, detail: str, *, close: bool = False) -> None:
        self.status = status
        self.detail = detail
        self.close = close
        super().__init__(detail)


class AccessRefused(RumorError):
    """No valid key (`status` 401, with the `challenge` to send), or not one for this (403)."""

    def __init__(self, status: int, detail: str, challenge: str | None = None) -> None:
        self.status = status
        self.detail = detail
        self.challenge = challenge
        super().__init__(detail)


class TooManyRequests(RumorError):
    """A limit is used up for now; `retry_after` is in seconds."""

    def __init__(self, what: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"{what} is used up; send the same again later")


class Overloaded(RumorError):
    """The queue before the writer is full. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("too many reports wait to be written; send them again later")


class StoreError(RumorError):
    """The database can't be used."""


class StoreUnavailable(StoreError):
    """A commit failed or its outcome is unknown. Sending the same bytes again is safe."""


class DiskAlmostFull(StoreError):
    """Less than `required` bytes are left on the disk of the database; `free` are."""

    def __init__(self, free: int, required: int) -> None:
        self.free = free
        self.required = required
        super().__init__(
            f"{free} bytes are left on the disk and {required} are kept in reserve; free some space"
        )


class UnknownSchema(StoreError):
    """The file is not a database of Rumor, or a version of one that this program doesn't know."""


class ChangedMeaning(StoreError):
    """`metric` means something else now while its `revision` stayed the same."""

    def __init__(self, metric: str, revision: int) -> None:
        self.metric = metric
        self.revision = revision
        super().__init__(
            f"metrics.{metric}.revision: is still {revision}, but the metric's mechanism or its "
            "parameters changed since the database first saw it; raise the revision"
        )


class SettingsError(RumorError):
    """The setting `name` is wrong."""

    def __init__(self, name: str, what: str, fix: str) -> None:
        self.name = name
        super().__init__(f"{name}: {what}; {fix}")


class CantListen(RumorError):
    """`host` and `port` can't be listened on, for the reason `error`; nothing was made."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        self.host = host
        self.port = port
        super().__init__(explain_listening(host, port, error))


class KeyProblem(RumorError):
    """What was said of a key is wrong; `name` is which part of it."""

    def __init__(self, name: str, what: str, fix: str) -> None:
        self.name = name
        super().__init__(f"{name}: {what}; {fix}")


def log_fault(log: logging.Logger, what: str, error: Exception) -> None:
    """Log a fault of ours by its type and lines, without words that may be a client's."""
    bare = RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
    log.error("%s failed", what, exc_info=bare)
