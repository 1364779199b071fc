"""The SHA-256 that stands beside a backup, in the form that `sha256sum --check` reads."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from rumor_server.errors import StoreError


def write_checksum(backup: Path) -> None:
    """Write the checksum of a backup beside it, readable by its owner alone."""
    line = f"{_sha256(backup)}  {backup.name}\n"
    file = os.open(_checksum_of(backup), os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        os.write(file, line.encode())
        os.fsync(file)
    finally:
        os.close(file)


def verify_checksum(backup: Path) -> bool:
    """Return whether a backup has a checksum beside it. Raises StoreError where it differs."""
    if not backup.exists():
        raise StoreError(f"{backup}: there is no such file")
    try:
        expected = _checksum_of(backup).read_text("ascii", errors="replace").split()
    except FileNotFoundError:
        return False
    if not expected or expected[0] != _sha256(backup):
        raise StoreError(
            f"{backup}: is not what {_checksum_of(backup).name} says: it was changed or damaged "
            "since; restore another backup"
        )
    return True


def _checksum_of(backup: Path) -> Path:
    return backup.with_name(backup.name + ".sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
