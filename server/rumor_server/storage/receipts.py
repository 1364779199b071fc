"""Receipts of retractions, on disk outside the database, for the day that a backup is restored.

A backup may be older than a retraction: restored, it would count again what a device took back. So
each retraction is answered only after its receipt is appended here and synced, and a restore
replays them. One file for each UTC day of reports, one line for each receipt. A line holds what the
tally held of the report: its perturbed payload, under no pseudonym and no time.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.ingestion.retraction import Receipt
from rumor_shared.days import parse_day

# No backup older than this may be restored: the receipts that it lacks are deleted by then.
KEEP_DAYS = 90
_SUFFIX = ".jsonl"


class Receipts:
    """The receipts in `folder`, which is made, for its owner alone, when the first one comes.

    Several processes may share a folder. Of one id, a process writes one receipt.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._written: dict[date, set[bytes]] = {}
        self._failed = False

    def append(self, receipts: Iterable[Receipt]) -> None:
        """Return after all are durable. Raises StoreUnavailable if they may not be."""
        by_day: dict[date, list[Receipt]] = {}
        with self._lock:
            for receipt in receipts:
                if receipt.id not in self._written.get(receipt.day, ()):
                    by_day.setdefault(receipt.day, []).append(receipt)
            try:
                for day, lines in by_day.items():
                    self._append(day, lines)
                    self._written.setdefault(day, set()).update(one.id for one in lines)
            except OSError as error:
                self._failed = True
                raise StoreUnavailable(
                    f"receipts of retractions can't be written ({error.strerror})"
                ) from error

    def check(self) -> None:
        """Return if a receipt could be kept now. Raises StoreUnavailable.

        After a failure it is tried, in a file that is removed again.
        """
        found = next(one for one in (self._folder, *self._folder.parents) if one.exists())
        if not found.is_dir() or not os.access(found, os.W_OK | os.X_OK):
            raise StoreUnavailable("receipts of retractions can't be written: look at their folder")
        with self._lock:
            if not self._failed:
                return
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with NamedTemporaryFile(dir=self._folder, prefix=".tried") as file:
                    file.write(b"x")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise StoreUnavailable(
                    f"receipts of retractions can't be written ({error.strerror})"
                ) from error
            self._failed = False

    def read(self) -> Iterator[Receipt]:
        """Yield every receipt, by day. Raises StoreError for a file that is damaged.

        What follows the last whole line was never answered for, and is left out.
        """
        for day in self._days():
            lines = self._path(day).read_bytes().split(b"\n")[:-1]
            for number, line in enumerate(lines, 1):
                try:
                    yield _DECODER.decode(line)
                except msgspec.DecodeError:
                    raise StoreError(
                        f"receipts of {day}, line {number}: is damaged; mend or remove the line"
                    ) from None

    def forget(self, closed_through: date) -> None:
        """Delete the receipts that no backup which may still be restored can lack."""
        last = closed_through - timedelta(days=KEEP_DAYS)
        for day in self._days():
            if day <= last:
                self._path(day).unlink(missing_ok=True)
        with self._lock:
            for day in [day for day in self._written if day <= closed_through]:
                del self._written[day]

    def _append(self, day: date, receipts: list[Receipt]) -> None:
        with self._locked(day) as file:
            end = os.fstat(file).st_size
            whole = _last_line_end(file, end)
            if whole != end:
                os.ftruncate(file, whole)
            lines = b"".join(_ENCODER.encode(receipt) + b"\n" for receipt in receipts)
            try:
                written = os.pwrite(file, lines, whole)
                if written != len(lines):
                    raise OSError(0, "the disk is full")
                os.fsync(file)
            except OSError:
                os.ftruncate(file, whole)
                raise

    @contextmanager
    def _locked(self, day: date) -> Iterator[int]:
        path = self._path(day)
        is_new = not path.exists()
        if is_new:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if is_new:
                _sync_folder(self._folder)
                _sync_folder(self._folder.parent)
            yield file
        finally:
            os.close(file)

    def _path(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}{_SUFFIX}"

    def _days(self) -> list[date]:
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            # Whatever else an operator keeps here is none of ours.
            with suppress(ValueError):
                found.append(parse_day(path.stem))
        return sorted(found)


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Receipt)
# Longer than any line: a payload has at most 64 KiB, four thirds of it in base64.
_TAIL = 1 << 17


def _last_line_end(file: int, end: int) -> int:
    """Return where the last whole line ends: a crash may have left a part of one after it."""
    start = max(0, end - _TAIL)
    return start + os.pread(file, end - start, start).rfind(b"\n") + 1


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
