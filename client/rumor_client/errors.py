"""Exceptions: every error the client raises on purpose, below `rumor_shared.errors.RumorError`.

ClientError
├── ConfigurationError   the client was made with something it can't use
├── StateBusy            another thread or process held the state for too long
├── StateUnavailable     the state can't be read or written: a full, read-only or broken disk
└── NoAnswer             no HTTP answer came: what a transport raises
`record` raises none of them: what can fail at run time is a `Result`.
"""

from __future__ import annotations

from rumor_shared.errors import RumorError


class ClientError(RumorError):
    """Base of all errors of the client."""


class ConfigurationError(ClientError, ValueError):
    """The client was made with something it can't use; `field` names the argument."""

    def __init__(self, field: str, what: str, fix: str) -> None:
        self.field = field
        self.what = what
        self.fix = fix
        super().__init__(f"{field}: {what}; {fix}")


class StateBusy(ClientError):
    """Another thread or process held the state for longer than `waited` seconds."""

    def __init__(self, waited: float) -> None:
        self.waited = waited
        super().__init__(f"the state was locked for more than {waited:g} s; try again")


class StateUnavailable(ClientError):
    """The state can't be read or written; `what` is the system's word for it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"the state can't be used: {what}; nothing is recorded until it can")


class NoAnswer(ClientError):
    """No HTTP answer came; `what` says why, without the address or the data."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"the collector gave no answer: {what}")
