"""Whether the files that are open are still those at their paths: the database and what is ahead.

A file that was deleted, moved or replaced under a running collector takes every commit and is gone
with the process. It is noticed by `stat` alone: to open the database beside SQLite, and to close it
again, would drop the locks that SQLite holds on it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from rumor_server.errors import StoreUnavailable

log = logging.getLogger(__name__)


class OpenFiles:
    """The database at `path` and its write-ahead file, as a connection has just opened them.

    Once one of them is gone, what the connection still reads is copied to a new file, once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._paths = (path, path.with_name(path.name + "-wal"))
        self._opened = tuple(_identity(one) for one in self._paths)
        self._was_gone = False

    def check(self, connection: sqlite3.Connection) -> None:
        """Return if the paths lead to what is open. Raises StoreUnavailable."""
        gone = [
            path
            for path, opened in zip(self._paths, self._opened, strict=True)
            if _identity(path) != opened
        ]
        if not gone:
            self._was_gone = False
            return
        if not self._was_gone:
            self._was_gone = True
            log.error(
                "%s: was deleted, moved or replaced while it was open; no report is acknowledged "
                "until the collector is started again. %s",
                gone[0],
                _rescue(connection, self._path),
            )
        raise StoreUnavailable(
            "the database's file was deleted, moved or replaced while it was open"
        )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _rescue(connection: sqlite3.Connection, path: Path) -> str:
    """Copy what the connection reads to a file of a new name, and say where it is."""
    folder = next((one for one in path.parents if one.is_dir()), path.parent)
    copy = folder / f"{path.name}.rescued-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    try:
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection.execute("VACUUM INTO ?", (str(copy),))
    except (OSError, sqlite3.Error) as error:
        return f"What it held could not be copied ({type(error).__name__})"
    return f"What it held is in {copy}: put it in the database's place before the next start"
