"""Back up a PostgreSQL database with its own tools, and restore it into an empty one.

`pg_dump` copies one snapshot while collectors write. The keys of open days are left out, as from a
backup of SQLite.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from rumor_server.errors import StoreError
from rumor_server.settings import Settings
from rumor_server.storage.checksum import verify_checksum, write_checksum
from rumor_server.storage.postgres.connection import Connection, connect, upgrade
from rumor_server.storage.postgres.statements import closed_through
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.postgres.tally_transfer import PostgresTransfer
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite.backup import Backup, Restored
from rumor_server.storage.store import SLICE_ROWS
from rumor_server.storage.tally_transfer import check_tallies
from rumor_shared.errors import RumorError

_KEYS = "rumor.day_keys"
_SECONDS = 6 * 3600
# What `pg_restore --list` says of a dump's start, in the time zone that `_environment` sets.
_TAKEN = re.compile(r"^;\s+Archive created at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$", re.MULTILINE)
# libpq's own names for what an address may hold; the password goes there too, and so never stands
# among the words of a process, which all users of the machine can read.
_VARIABLES = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}


def back_up_postgres(url: str, destination: Path) -> None:
    """Write a backup that its owner alone may read. Raises StoreError, FileExistsError."""
    if destination.exists():
        raise FileExistsError(f"{destination}: exists already; give another name")
    staged = destination.with_name(destination.name + ".staged")
    staged.unlink(missing_ok=True)
    os.close(os.open(staged, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        words = ["pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--schema=rumor"]
        _run([*words, f"--exclude-table-data={_KEYS}", f"--file={staged}"], url)
        listed = _run(["pg_restore", "--list", str(staged)], url)
        if " TABLE DATA rumor tallies " not in listed or " TABLE DATA rumor day_keys " in listed:
            raise StoreError("the dump is not what a backup must be; look at pg_dump's version")
        with staged.open("rb") as file:
            os.fsync(file.fileno())
        os.link(staged, destination)
        write_checksum(destination)
    finally:
        staged.unlink(missing_ok=True)


def restore_postgres(settings: Settings, backup: Path, today: date, *, reopen: bool) -> Restored:
    """Restore into a database without a schema `rumor`, and do retractions again.

    Days up to `today` are closed unless `reopen`. Nothing is known of the database before, so
    neither what was lost nor what was revoked is. Raises StoreError; then nothing was restored.
    """
    if not backup.exists():
        raise StoreError(f"{backup}: there is no such file")
    verified = verify_checksum(backup)
    url = settings.database_url
    with connect(url, settings.busy_seconds) as connection:
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'rumor'").fetchone():
            raise StoreError(
                "the database has a schema `rumor`: make an empty database and give its URL, or "
                "drop the schema once you know that the backup is whole"
            )
    taken = _TAKEN.search(_run(["pg_restore", "--list", str(backup)], url))
    if taken is None:
        raise StoreError("the dump does not say when it was made; look at pg_restore's version")
    # Read before anything is written, because a line of theirs may be damaged.
    receipts = list(Receipts(settings.receipts_folder).read())
    name = conninfo_to_dict(url).get("dbname")
    words = ["pg_restore", "--exit-on-error", "--single-transaction", "--no-owner"]
    _run([*words, f"--dbname={name}", str(backup)], url)
    with _all_or_nothing(url, settings.busy_seconds):
        upgrade(url, settings.busy_seconds)
        with connect(url, settings.busy_seconds) as connection:
            # Their keys are gone: no account of an open day can be found by them.
            connection.execute("DELETE FROM spend")
            found = _found(connection, datetime.fromisoformat(taken[1]).replace(tzinfo=UTC))
            check_tallies(PostgresTransfer(connection))
        with closing(PostgresStore(url, busy_seconds=settings.busy_seconds)) as store:
            replayed = store.replay(receipts)
            if not reopen:
                store.close_days(today)
                while store.forget_closed(SLICE_ROWS):
                    pass
    return Restored(found, None, replayed, 0, reopen, None, verified)


@contextmanager
def _all_or_nothing(url: str, busy_seconds: float) -> Iterator[None]:
    """Drop what was restored if work on it fails: its retractions are undone, its days open."""
    try:
        yield
    except (RumorError, psycopg.Error) as error:
        with suppress(StoreError, psycopg.Error), connect(url, busy_seconds) as connection:
            connection.execute("DROP SCHEMA rumor CASCADE")
        raise StoreError(f"what was restored can't be used ({error}); restore it again") from error


def _found(connection: Connection, taken: datetime) -> Backup:
    row = connection.execute(
        "SELECT CAST(coalesce(sum(reports), 0) AS bigint) FROM "
        "(SELECT reports FROM tallies UNION ALL SELECT reports FROM deltas) AS both_of_them"
    ).fetchone()
    closed = closed_through(connection)
    return Backup(taken, 0 if row is None else row[0], None if closed == date.min else closed)


def _run(words: list[str], url: str) -> str:
    program = shutil.which(words[0])
    if program is None:
        raise StoreError(f"{words[0]} is not installed; install PostgreSQL's client programs")
    try:
        done = subprocess.run(  # noqa: S603 - our own words, and no shell
            [program, *words[1:]],
            env=_environment(url),
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"{words[0]} did not end ({type(error).__name__})") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no word of why"]
        raise StoreError(f"{words[0]} failed: {last[0]}")
    return done.stdout


def _environment(url: str) -> Mapping[str, str]:
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError("database_url: is not an address of PostgreSQL") from None
    unknown = sorted(set(given) - set(_VARIABLES))
    if unknown:
        raise StoreError(
            f"database_url: {', '.join(unknown)} can't be given to PostgreSQL's own programs; "
            "set it in their environment and leave it out of the address"
        )
    own = {variable: str(given[name]) for name, variable in _VARIABLES.items() if name in given}
    return dict(os.environ) | own | {"TZ": "UTC", "LC_ALL": "C"}
