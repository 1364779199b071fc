"""An inter-process file lock, which the system releases when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """Hold the lock on `path` for the block; gives False at once while another process holds it.

    Where the file can't be made, it gives True: two uploads at a time are only a waste, since the
    collector counts an id once.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError:
        yield True
        return
    try:
        yield _taken(descriptor)
    finally:
        # Closing releases it: the lock belongs to the process, and a forked child has none.
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
