"""What other rooms look over for `rumor doctor`: the entry points of the group `rumor.checks`.

Each loads to a function without arguments that returns rows of (whether all is well, what was
looked at), with the extras it needs in brackets. So the collector imports neither the client nor
the simulations, and shows what they find where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points

from rumor_server.operations.doctor import Finding, Level

GROUP = "rumor.checks"

RoomCheck = Callable[[], Iterable[tuple[bool, str]]]


def check_rooms(entries: Iterable[EntryPoint] | None = None) -> Iterator[Finding]:
    """Yield a finding for each row of each check, or one that says what is not installed.

    `entries` are those of the installed packages unless others are given.
    """
    found = entry_points(group=GROUP) if entries is None else entries
    for entry in sorted(found, key=lambda one: one.name):
        yield from _run(entry)


def _run(entry: EntryPoint) -> Iterator[Finding]:
    try:
        check: RoomCheck = entry.load()
    except ModuleNotFoundError:
        extras = ",".join(entry.extras)
        yield Finding(Level.OK, entry.name, f"not installed: pip install 'rumor[{extras}]'")
        return
    try:
        for well, detail in check():
            yield Finding(Level.OK if well else Level.WRONG, entry.name, detail)
    except OSError as error:
        yield Finding(
            Level.WARNING,
            entry.name,
            f"can't be run ({error.strerror}): it needs a folder for temporary files",
        )
