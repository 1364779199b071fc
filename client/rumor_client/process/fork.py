"""Fork hooks: what happens to locks, threads and files when the process forks.

A child has only the thread that forked, and any lock that another held is held for ever; a SQLite
connection must not cross at all. So the parent lets go before, and the child starts with new ones.
"""

from __future__ import annotations

import os
import weakref
from functools import cache
from typing import Protocol


class Forkable(Protocol):
    """Something that must be told of a fork."""

    def before_fork(self) -> None:
        """Come to rest in the parent: no lock held by another thread, no connection open."""

    def after_fork(self, *, child: bool) -> None:
        """Go on, in the parent or as the child."""


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []


def watch(thing: Forkable) -> None:
    """Tell `thing` of every fork for as long as it lives."""
    _register()
    _watched.add(thing)


@cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
        )


def _before() -> None:
    for thing in list(_watched):
        thing.before_fork()
        _resting.append(thing)


def _after_in_parent() -> None:
    while _resting:
        _resting.pop().after_fork(child=False)


def _after_in_child() -> None:
    while _resting:
        _resting.pop().after_fork(child=True)
