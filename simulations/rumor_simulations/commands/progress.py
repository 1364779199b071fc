"""Progress of a long command on standard error: a bar for a person, lines for a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

aside = Console(stderr=True)
# A log that says nothing for longer looks as if it hung.
_LINE_SECONDS = 10.0


def say(command: str, what: str) -> None:
    """Say what a command is at, at once: what it works with may take seconds to load."""
    aside.print(f"rumor {command}: {what}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(command: str, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that is called with how many more are done of `total`."""
    if aside.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=aside) as bar:
            task = bar.add_task(what, total=total)
            yield lambda more: bar.advance(task, more)
        return
    done, last = 0, time.monotonic()
    say(command, f"{what}: 0 of {total:,}")

    def advance(more: int) -> None:
        nonlocal done, last
        done += more
        if done >= total or time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            say(command, f"{what}: {done:,} of {total:,}")

    yield advance
