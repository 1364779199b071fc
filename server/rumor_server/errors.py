"""Every error the collector raises on purpose.

RumorError (shared)
├── BadRequest           the request can't be answered as it was sent
│   ├── NotFound         nothing is known by this name
│   ├── UnsupportedMedia another media type or content encoding
│   ├── TooLarge         more than a request may hold
│   │   └── BodyTooLarge more bytes than a body may have, on the wire or inflated
│   ├── BrokenGzip       the compressed body is broken; what follows it is unread
│   └── BodyTooSlow      the body did not arrive in its time
├── AccessRefused        the key is for something else, or the page is another site's
│   └── KeyRequired      no key, or none that is valid
├── TooManyRequests      a limit of a key or an address is used up
├── Overloaded           more waits than the queue may hold; nothing was written
│   └── TooManyQueries   more questions wait for an answer than may
├── StoreError           the database can't be used
│   ├── StoreUnavailable a commit failed, or nobody knows whether it did
│   ├── DiskAlmostFull   too little space is left to promise durability
│   ├── UnknownSchema    the file is not ours, or of a version we don't know
│   └── ChangedMeaning   a metric changed and its revision did not
├── SettingsError        a setting is wrong
├── CantListen           the host and port can't be listened on
└── KeyProblem           a key can't be made or isn't known

What each becomes over HTTP stands in one table, in `http/problem`. No message repeats anything that
a client submitted.
"""

from __future__ import annotations

import logging

from rumor_shared.errors import RumorError
from rumor_shared.os_errors import explain_listening


class BadRequest(RumorError):
    """The request can't be answered as it was sent; `detail` says what to do."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class NotFound(BadRequest):
    """Nothing is known by this name."""


class UnsupportedMedia(BadRequest):
    """The body has another media type or content encoding than is taken."""


class TooLarge(BadRequest):
    """The request holds more than one may."""


class BodyTooLarge(TooLarge):
    """The body has more bytes than it may, on the wire or inflated."""


class BrokenGzip(BadRequest):
    """The body is not one member of gzip; what follows it on the socket is unread."""


class BodyTooSlow(BadRequest):
    """The body did not arrive in its time."""


class AccessRefused(RumorError):
    """This may not be done with this key, or from this page; `detail` says what may."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class KeyRequired(AccessRefused):
    """There is no key, or none that is valid; `challenges` are the ways to send one."""

    def __init__(self, detail: str, challenges: tuple[str, ...]) -> None:
        self.challenges = challenges
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


class TooManyQueries(Overloaded):
    """More questions wait for an answer than may, or one took too long."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        RumorError.__init__(self, "too many questions wait for an answer; ask again later")


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
