"""What the system refuses, in words instead of a number: a file, or a place to listen at."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

_FILES = {
    errno.ENOENT: "does not exist; check the path",
    errno.EEXIST: "is there already; move it away, or give another path",
    errno.EISDIR: "is a folder; give a file",
    errno.ENOTDIR: "is below a file that is no folder; check the path",
    errno.EACCES: "is not open to this user; change its rights, or give another path",
    errno.EPERM: "is not open to this user; change its rights, or give another path",
    errno.EROFS: "is on a disk that can only be read; give another path",
    errno.ENOSPC: "has no room on its disk; free some space",
}


def explain(error: OSError) -> str:
    """Return a sentence on what an operation met: the file, what is wrong, and what to do.

    The errors that we raise ourselves, with a message and no number, are told as they are.
    """
    if error.errno is None:
        return str(error)
    said = error.strerror or type(error).__name__
    # Where two are named, one is our own copy that was to be renamed, and the second the place.
    name = error.filename2 or error.filename
    if name is None:
        return said
    path = Path(os.fsdecode(name))
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path.parent}: there is no such folder; make it, or give another path"
    # Windows says of a folder that access is denied.
    folder = error.errno == errno.EACCES and path.is_dir()
    return f"{path}: {_FILES.get(errno.EISDIR if folder else error.errno, said)}"


_PLACES = {
    errno.EADDRINUSE: "another program listens there; stop it, or give another port (0 is any)",
    errno.EADDRNOTAVAIL: "this machine has no such address; give one of its own",
    errno.EACCES: "this user may not listen there; give a port from 1024 up",
}


def explain_listening(host: str, port: int, error: OSError) -> str:
    """Return a sentence on what kept a program from listening: where, what is wrong, what to do."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(error, socket.gaierror):
        return f"{place}: this is the name of no machine; give an address of this one"
    said = f"can't be listened at ({error.strerror}); give another address or port"
    return f"{place}: {_PLACES.get(error.errno or 0, said)}"
