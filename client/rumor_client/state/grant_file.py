"""The grant file beside the state file: while it is gone, no grant holds.

A grant makes it, durably, before it is stored. Withdrawing it needs no room on the disk, unlike a
transaction: that is how a denial is kept on a full one. Whoever opens the state next, and has room,
stores the denial and deletes what it covers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SUFFIX = ".granted"


class GrantFile:
    """The file whose absence denies; of the state file at `state`."""

    def __init__(self, state: Path) -> None:
        self._path = f"{state}{SUFFIX}"
        self._folder = str(state.parent)

    def exists(self) -> bool:
        """Return whether grants hold. What can't be looked at doesn't."""
        try:
            os.stat(self._path)  # noqa: PTH116 - a Path costs five times the call, per record
        except OSError:
            return False
        return True

    def make(self) -> None:
        """Make the file. Raises OSError."""
        os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._sync()

    def remove(self) -> None:
        """Remove the file. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108 - as above
        self._sync()

    def _sync(self) -> None:
        # An entry of a folder is durable when the folder is; Windows opens none.
        with suppress(OSError):
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
