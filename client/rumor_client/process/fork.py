"""The fork lock: a fork waits until no other thread is inside SQLite or an import of ours.

A child has only the thread that forked. Whatever lock another thread held at that moment is held
for ever in the child: SQLite's own mutexes and Python's import locks too, which no one can renew.
So every use of SQLite, open and close among them, and every lazy import enters it, before any
lock of the client; a fork shuts it, waits for those inside, and opens it again.

    enter        waits for a fork that is under way, at most as long as the caller says
    fork         waits at most FORK_WAIT seconds in all, for other forks and for those inside
    dispose      never waits: it is what a finaliser calls, on any thread, at any moment

Where that time was not enough, the child says so (`StateUnavailable`) instead of waiting for ever.
A signal handler may fork, or record, in the middle of what its thread was doing: the thread itself
is never waited for, and what was cut in two by the fork fails in the child (`generation` tells);
its file is unavailable to the child. A process that was forked behind
Python's back, as uWSGI does, is recognised by its id at the next entry; clients that were made
before are unavailable there.
"""

from __future__ import annotations

import os
from _thread import RLock, get_ident
from _weakref import ref
from time import monotonic, sleep

# The builtins, and errors where they are raised: `import rumor_client` loads this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol

    class Forkable(Protocol):
        """Something that must be told of a fork."""

        def before_fork(self) -> None:
            """Let go, in the parent, of what must not cross. Never waits."""

        def after_fork(self, *, clean: bool) -> None:
            """Start anew in the child: with locks of its own, and nothing that crossed.

            `clean` says that no thread which stayed in the parent holds a lock of SQLite's.
            """


# A transaction waits 250 ms for a lock, and a disk some milliseconds; a denial may wait for longer.
FORK_WAIT = 3.0
# How often a fork looks whether those inside have left.
_POLL = 0.0005


class ForkLock:
    """The fork lock of this process: `FORK_LOCK` below; see the module."""

    def __init__(self) -> None:
        # How many forks lie between the first process and this one.
        self.generation = 0
        # What was inside when this process was forked off, if anything was.
        self._broken = False
        self._pid = os.getpid()
        self._late: list[Callable[[], object]] = []
        # What crossed a fork and must never be closed here: closing would touch the parent's locks.
        self._abandoned: list[object] = []
        # By the thread's number: a dictionary of its own entries is changed by each thread alone.
        self._watched: dict[int, ref[Forkable]] = {}
        self._inside: dict[int, int] = {}
        # How deep a thread was inside when it began to wait for its own fork: it is at rest as long
        # as it is no deeper. One that was importing is not, for it holds a lock of Python's.
        self._resting: dict[int, int] = {}
        self._importing: dict[int, int] = {}
        self._forks: dict[int, list[_Fork]] = {}
        self._renew()

    def _renew(self) -> None:
        # Reentrant: a signal handler or a finaliser may run while its own thread holds one.
        self._door = RLock()
        self._one_fork = RLock()

    def watch(self, thing: Forkable) -> None:
        """Tell `thing` of every fork for as long as it lives."""
        key = id(thing)
        self._watched[key] = ref(thing, lambda _: self._watched.pop(key, None))

    def enter(self, wait: float) -> None:
        """Go in, for up to `wait` seconds behind a fork under way; `leave` must follow.

        May be nested. Raises StateBusy, and StateUnavailable in a child that was forked while
        another thread was inside.
        """
        if os.getpid() != self._pid:
            # Behind Python's back: nothing was let go before, and what SQLite thinks it holds is
            # the parent's. Seen under uWSGI: a transaction that never ended.
            crossed = bool(self._things())
            self._in_child()
            self._broken = self._broken or crossed
        me = get_ident()
        if me in self._inside and me not in self._resting:
            self._inside[me] += 1
            return
        if self._broken:
            from rumor_client.errors import StateUnavailable

            raise StateUnavailable(
                "this process was forked from one whose client was at work; make the client in each"
                " process, after the fork"
            )
        door = self._door
        if not door.acquire(timeout=max(0.0, wait)):
            from rumor_client.errors import StateBusy

            raise StateBusy(wait)
        try:
            self._inside[me] = self._inside.get(me, 0) + 1
        finally:
            door.release()
        if self._late:
            self._close_late()

    def leave(self) -> None:
        """Come out."""
        me = get_ident()
        depth = self._inside.get(me, 0)
        if depth > 1:
            self._inside[me] = depth - 1
        else:
            self._inside.pop(me, None)

    def dispose(self, close: Callable[[], object]) -> None:
        """Call `close` now if that is possible at once, else as soon as somebody passes."""
        self._late.append(close)
        me = get_ident()
        if me in self._inside:
            if me not in self._resting:
                self._close_late()
        elif not self._broken and self._door.acquire(blocking=False):
            try:
                self._inside[me] = 1
            finally:
                self._door.release()
            try:
                self._close_late()
            finally:
                self.leave()

    def begin_import(self) -> None:
        """Say that this thread, which is inside, loads modules."""
        me = get_ident()
        self._importing[me] = self._importing.get(me, 0) + 1

    def end_import(self) -> None:
        """Say that it is done."""
        me = get_ident()
        depth = self._importing.get(me, 0)
        if depth > 1:
            self._importing[me] = depth - 1
        else:
            self._importing.pop(me, None)

    def abandon(self, thing: object) -> None:
        """Keep, for good, what crossed a fork."""
        self._abandoned.append(thing)

    def _close_late(self) -> None:
        while self._late:
            try:
                close = self._late.pop()
            except IndexError:  # another thread was faster
                return
            close()

    def before(self) -> None:
        """Shut it, and wait for those inside; called before a fork."""
        deadline = monotonic() + FORK_WAIT
        me = get_ident()
        fork = _Fork()
        self._forks.setdefault(me, []).append(fork)
        one, door = self._one_fork, self._door
        rested = self._resting.get(me)
        if me in self._inside and me not in self._importing:
            self._resting[me] = self._inside[me]
        try:
            if one.acquire(timeout=FORK_WAIT):
                fork.one = one
            if door.acquire(timeout=max(0.0, deadline - monotonic())):
                fork.door = door
        finally:
            self._resting.pop(me, None)
            if rested is not None:
                self._resting[me] = rested
        while fork.door is None or self._others():
            if monotonic() >= deadline:
                return
            sleep(_POLL)
        fork.clean = True
        self._close_late()
        for thing in self._things():
            thing.before_fork()

    def _others(self) -> list[int]:
        inside, me = list(self._inside.items()), get_ident()
        return [thread for thread, n in inside if thread != me and self._resting.get(thread) != n]

    def _things(self) -> list[Forkable]:
        found = (reference() for reference in list(self._watched.values()))
        return [thing for thing in found if thing is not None]

    def after_in_parent(self) -> None:
        """Open it again; called after a fork, by the parent."""
        me = get_ident()
        forks = self._forks.get(me)
        if not forks:
            return
        fork = forks.pop()
        if not forks:
            del self._forks[me]
        for lock in (fork.door, fork.one):
            if lock is not None:
                lock.release()

    def after_in_child(self) -> None:
        """Start anew; called after a fork, by the child."""
        self._in_child()

    def _in_child(self) -> None:
        forks = self._forks.pop(get_ident(), [])
        clean = forks[-1].clean if forks else not self._others()
        self._pid = os.getpid()
        self.generation += 1
        self._broken = self._broken or not clean
        self._forks = {}
        self._resting = {}
        self._importing = {}
        self._inside = {me: n for me, n in self._inside.items() if me == get_ident()}
        while self._late:
            self._abandoned.append(self._late.pop())
        self._renew()
        for thing in self._things():
            thing.after_fork(clean=not self._broken)


class _Fork:
    """One fork under way: the locks that it got, and whether nobody else was inside."""

    __slots__ = ("clean", "door", "one")

    def __init__(self) -> None:
        self.one: RLock | None = None
        self.door: RLock | None = None
        self.clean = False


class Importing:
    """A block in which modules are loaded, for `with`.

    With `later`, after the client was made: what can't be loaded then (the package is gone, no file
    can be opened, the interpreter ends) is StateUnavailable, which an app expects.
    """

    def __init__(self, *, later: bool = False) -> None:
        self._later = later

    def __enter__(self) -> None:
        # Nothing but a fork is waited for, which lasts FORK_WAIT; the rest is for a busy machine.
        FORK_LOCK.enter(5 * FORK_WAIT)
        FORK_LOCK.begin_import()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        FORK_LOCK.end_import()
        FORK_LOCK.leave()
        if self._later and kind is not None and issubclass(kind, ImportError | OSError):
            from rumor_client.errors import StateUnavailable

            raise StateUnavailable("a part of the client can't be loaded any more") from error


FORK_LOCK = ForkLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=FORK_LOCK.before,
        after_in_parent=FORK_LOCK.after_in_parent,
        after_in_child=FORK_LOCK.after_in_child,
    )
