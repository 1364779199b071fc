"""The state store of a user who has no place for one: every use of it is StateUnavailable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import date
from typing import NoReturn, TypeVar

from rumor_client.errors import StateUnavailable
from rumor_client.state.protocol import LOCK_WAIT, Transaction

T = TypeVar("T")


class AbsentState:
    """A state that can't be used; `what` says why, and what to do about it."""

    def __init__(self, what: str) -> None:
        self._what = what

    def transaction(self, wait: float = LOCK_WAIT) -> AbstractContextManager[Transaction]:
        """Raise StateUnavailable."""
        self._refuse()

    def run(self, work: Callable[[Transaction], T], wait: float = LOCK_WAIT) -> T:
        """Raise StateUnavailable."""
        self._refuse()

    def choices(self, wait: float = LOCK_WAIT) -> Mapping[str, tuple[str, date]]:
        """Raise StateUnavailable."""
        self._refuse()

    def upload_turn(self) -> AbstractContextManager[bool]:
        """Raise StateUnavailable."""
        self._refuse()

    def revoke(self) -> bool:
        """Return True: nothing can be granted here."""
        return True

    def scrub(self) -> bool:
        """Return True: nothing is stored here."""
        return True

    def erasure_pending(self) -> bool:
        """Return False: nothing is stored here."""
        return False

    def close(self) -> None:
        """Do nothing."""

    def _refuse(self) -> NoReturn:
        raise StateUnavailable(self._what)
