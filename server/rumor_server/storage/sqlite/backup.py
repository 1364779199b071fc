"""Back up a SQLite database while it is written to, and put a backup in a database's place.

A backup is staged beside its destination, stripped of the keys of open days, checked, synced, and
only then given its name. Without those keys the digests and accounts in it can't be tested against
a guess; what still refers to an open day is worth nothing but "this id was counted".
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from rumor_server.errors import StoreError
from rumor_server.storage.checksum import verify_checksum, write_checksum
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite.file import open_reader, open_writer, upgrade
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.sqlite.tally_transfer import SqliteTransfer
from rumor_server.storage.store import SLICE_ROWS
from rumor_server.storage.tally_transfer import check_tallies

_PAGES_A_STEP = 4096
_BUSY_SECONDS = 30.0


@dataclass(frozen=True)
class Backup:
    """What a backup holds: when it was taken, how many reports it counts, the last closed day."""

    taken: datetime
    reports: int
    closed_through: date | None


@dataclass(frozen=True)
class Restored:
    """What a restore did: the backup, what it lacks of the database before, and what came back.

    `lost` is how many reports the database before counted and this one does not, None where it
    could not be read. `open_days` says whether reports of days that the backup had open are taken
    again, `verified` whether a checksum stood beside the backup and agreed.
    """

    backup: Backup
    lost: int | None
    replayed: int
    revoked: int
    open_days: bool
    before: Path | None
    verified: bool


def back_up(database: Path, destination: Path, now: datetime) -> Backup:
    """Copy a database, in use or not, to a file of its own, readable by its owner alone.

    Raises StoreError if there is no database or the copy isn't whole, FileExistsError for a
    destination that exists: a backup is never overwritten.
    """
    if not database.exists():
        raise StoreError(f"{database}: there is no such database")
    if destination.exists():
        raise FileExistsError(f"{destination}: exists already; give another name")
    staged = destination.with_name(destination.name + ".staged")
    with _staged(staged):
        with (
            _faults(),
            closing(open_reader(database, _BUSY_SECONDS)) as source,
            closing(sqlite3.connect(staged, isolation_level=None)) as copy,
        ):
            source.backup(copy, pages=_PAGES_A_STEP)
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.execute("PRAGMA secure_delete = ON")
            copy.execute("BEGIN IMMEDIATE")
            copy.execute("DELETE FROM day_keys")
            copy.execute("DROP TABLE IF EXISTS control_backup")
            copy.execute("CREATE TABLE control_backup (taken TEXT NOT NULL)")
            copy.execute("INSERT INTO control_backup VALUES (?)", (now.isoformat(),))
            copy.execute("COMMIT")
            # What was deleted before the copy may still stand on a free page.
            copy.execute("VACUUM")
        found = read_backup(staged)
        _sync(staged)
        os.link(staged, destination)
        write_checksum(destination)
        _sync(destination.parent)
    return found


def read_backup(path: Path) -> Backup:
    """Check a backup and return what it holds. Raises StoreError, UnknownSchema."""
    if not path.exists():
        raise StoreError(f"{path}: there is no such file")
    with (
        _faults(),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as one,
    ):
        ((verdict,),) = one.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            raise StoreError(f"{path}: is damaged ({verdict}); take another backup")
        tables = {name for (name,) in one.execute("SELECT name FROM sqlite_schema")}
        if not {"control_backup", "collector", "day_keys", "tallies"} <= tables:
            raise StoreError(f"{path}: is not a backup; `rumor backup` makes one")
        ((keys,),) = one.execute("SELECT count(*) FROM day_keys").fetchall()
        if keys:
            raise StoreError(f"{path}: holds the keys of open days, so it is no backup of ours")
        ((taken,),) = one.execute("SELECT taken FROM control_backup").fetchall()
        ((closed,),) = one.execute("SELECT closed_through FROM collector").fetchall()
        reports = _reports(one)
        check_tallies(SqliteTransfer(one))
    return Backup(
        datetime.fromisoformat(taken), reports, date.fromordinal(closed) if closed else None
    )


def restore(
    backup: Path, database: Path, receipts: Receipts, today: date, *, reopen: bool
) -> Restored:
    """Put a backup in the place of a database, which is moved aside.

    Retractions that the backup lacks are done again. Days up to `today` are closed, because what
    came after the backup is lost with its ids: sent again, it would be counted, but so would what a
    device was told had been counted. With `reopen` they stay open. Raises StoreError if the backup
    is damaged or something has the database open; then nothing has changed.
    """
    verified = verify_checksum(backup)
    found = read_backup(backup)
    before, counted, revoked = None, None, {}
    if database.exists():
        _check_unused(database)
        with suppress(sqlite3.Error, StoreError), closing(open_reader(database, 1.0)) as old:
            counted = _reports(old)
            revoked = dict(old.execute("SELECT id, revoked FROM control_keys WHERE revoked > 0"))
    staged = database.with_name(database.name + ".restoring")
    with _staged(staged):
        shutil.copyfile(backup, staged)
        upgrade(staged, _BUSY_SECONDS)
        with _faults(), closing(open_writer(staged, _BUSY_SECONDS)) as copy:
            copy.execute("BEGIN IMMEDIATE")
            # Their keys are gone: no account of an open day can be found by them.
            copy.execute("DELETE FROM spend")
            copy.execute("DROP TABLE control_backup")
            revocations = _revoke(copy, revoked)
            copy.execute("COMMIT")
        with closing(SqliteStore(staged)) as store:
            replayed = store.replay(receipts.read())
            if not reopen:
                store.close_days(today)
                while store.forget_closed(SLICE_ROWS):
                    pass
        # Counted only now: what was taken back since the backup is not lost.
        with _faults(), closing(open_reader(staged, _BUSY_SECONDS)) as copy:
            lost = None if counted is None else max(0, counted - _reports(copy))
        _sync(staged)
        if database.exists():
            before = _move_aside(database)
        os.link(staged, database)
        _sync(database.parent)
    return Restored(found, lost, replayed, revocations, reopen, before, verified)


def _revoke(copy: sqlite3.Connection, revoked: dict[str, int]) -> int:
    """Revoke what was revoked since the backup; return how many keys that were."""
    tables = copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'control_keys'").fetchall()
    if not tables or not revoked:
        return 0
    return copy.executemany(
        "UPDATE control_keys SET revoked = ? WHERE id = ? AND revoked = 0",
        [(day, id_) for id_, day in revoked.items()],
    ).rowcount


def _reports(connection: sqlite3.Connection) -> int:
    ((reports,),) = connection.execute("SELECT coalesce(sum(reports), 0) FROM tallies").fetchall()
    return int(reports)


def _check_unused(database: Path) -> None:
    """Raise StoreError while another connection is open: an exclusive lock says so at once."""
    with closing(sqlite3.connect(database, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise StoreError(
                    f"{database}: is in use; stop every collector on it, then restore"
                ) from None
        except sqlite3.DatabaseError:
            # Damaged: one more reason to restore.
            return


def _move_aside(database: Path) -> Path:
    number = 1
    while (aside := database.with_name(f"{database.name}.before-restore-{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm", ""):
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


@contextmanager
def _staged(path: Path) -> Iterator[None]:
    """Make a file for its owner alone, and remove it and what SQLite puts beside it at the end."""
    _remove(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the database can't be read or copied ({error})") from error
