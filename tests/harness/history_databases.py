"""The databases that histories are played on, with the real backup and the real restore of each."""

import itertools
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import psycopg
from tests.server.storage.store_contract import postgres_remember, sqlite_remember

from rumor_server.clock import utc_now
from rumor_server.settings import Settings
from rumor_server.storage.postgres import statements as postgres_statements
from rumor_server.storage.postgres.backup import back_up_postgres, restore_postgres
from rumor_server.storage.postgres.connection import connect
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite import statements as sqlite_statements
from rumor_server.storage.sqlite.backup import back_up, restore
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.store import Store


class Database(Protocol):
    """What a history needs of a database."""

    def open(self) -> Store:
        """Open another store, as another process would."""

    def empty(self) -> None:
        """Bring the database back to where it holds nothing, without a backup or a receipt."""

    def traces(self, through: date) -> list[bytes]:
        """Return the keys and hashes of days up to one, which must go when those close."""

    def raw(self) -> bytes:
        """Return every byte of the database's files."""

    def fault(self) -> AbstractContextManager[None]:
        """Have every commit fail within its transaction, after its last statement."""

    def receipts(self) -> Receipts:
        """Return the folder of receipts, as another process holds it."""

    def back_up(self) -> Path:
        """Make a backup as `rumor backup` does."""

    def restore(self, backup: Path, today: date, *, reopen: bool) -> int | None:
        """Restore as `rumor restore` does; return how many reports it says are lost.

        Raises StoreError while a node is open.
        """


class Folder:
    """Where receipts and backups are, beside a database or what stands for it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._backups = settings.database.with_name("backups")
        self._numbers = itertools.count()

    def receipts(self) -> Receipts:
        """Open the folder once more."""
        return Receipts(self._settings.receipts_folder)

    def new(self) -> Path:
        """Return the name of the next backup."""
        self._backups.mkdir(exist_ok=True)
        return self._backups / f"{next(self._numbers)}.backup"

    def empty(self) -> None:
        """Throw away what there is."""
        for folder in (self._settings.receipts_folder, self._backups):
            shutil.rmtree(folder, ignore_errors=True)


class File:
    """A SQLite file that does not wait for the disk: these crashes are not the machine's."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "rumor.sqlite3"
        self._folder = Folder(Settings(database=self._path))
        self.receipts = self._folder.receipts
        SqliteStore(self._path).close()
        self._nothing = sqlite_remember(self._path)()

    def open(self) -> Store:
        """Open the file once more."""
        store = SqliteStore(self._path, busy_seconds=30)
        store._connection.execute("PRAGMA synchronous = OFF")
        return store

    def empty(self) -> None:
        """Restore the emptiness that was there at first."""
        for path in self._path.parent.glob(f"{self._path.name}*"):
            path.unlink()
        self._folder.empty()
        self._nothing()

    def traces(self, through: date) -> list[bytes]:
        """Return what the file holds of days up to one: keys, and what stands for reports."""
        with closing(sqlite3.connect(self._path)) as connection:
            return [
                bytes(trace)
                for words in ("key FROM day_keys", "id FROM ids", "digest FROM ids")
                for (trace,) in connection.execute(
                    f"SELECT {words} WHERE day <= ?",
                    (through.toordinal(),),
                )
            ]

    def raw(self) -> bytes:
        """Return every byte of the database's files."""
        return b"".join(
            self._path.with_name(self._path.name + end).read_bytes()
            for end in ("", "-wal")
            if self._path.with_name(self._path.name + end).exists()
        )

    def fault(self) -> AbstractContextManager[None]:
        """Fail once everything is written and before it is committed."""
        return failing(sqlite_statements, "add_tallies", sqlite3.OperationalError)

    def back_up(self) -> Path:
        """Copy the file while it is in use."""
        made = self._folder.new()
        back_up(self._path, made, utc_now())
        return made

    def restore(self, backup: Path, today: date, *, reopen: bool) -> int | None:
        """Put the backup in the file's place."""
        return restore(backup, self._path, self.receipts(), today, reopen=reopen).lost


class Tables:
    """A PostgreSQL database whose sessions do not wait for the disk, for the same reason."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        # Nothing is at this path: receipts stand beside it.
        self._settings = Settings(
            database=folder / "rumor.sqlite3", database_url=url, busy_seconds=30
        )
        self._folder = Folder(self._settings)
        self.receipts = self._folder.receipts
        self._nothing = postgres_remember(url)()
        self._stores: list[PostgresStore] = []

    def open(self) -> Store:
        """Connect once more."""
        store = PostgresStore(self._url, busy_seconds=30)
        store._connection.execute("SET synchronous_commit = off")
        self._stores.append(store)
        return store

    def empty(self) -> None:
        """Restore the emptiness that was there at first."""
        self._folder.empty()
        self._nothing()

    def traces(self, through: date) -> list[bytes]:
        """Return nothing: no promise is made of the bytes of a server's files."""
        return []

    def raw(self) -> bytes:
        """Return nothing."""
        return b""

    def fault(self) -> AbstractContextManager[None]:
        """Fail once everything is written and before it is committed."""
        return failing(postgres_statements, "append_deltas", psycopg.OperationalError)

    def back_up(self) -> Path:
        """Dump the schema while it is in use."""
        made = self._folder.new()
        back_up_postgres(self._url, made)
        return made

    def restore(self, backup: Path, today: date, *, reopen: bool) -> int | None:
        """Drop the schema once nobody uses it, and restore into the empty database."""
        self._stores = [one for one in self._stores if not one._connection.closed]
        if not self._stores:
            with connect(self._url, 30) as connection:
                connection.execute("DROP SCHEMA rumor CASCADE")
        restore_postgres(self._settings, backup, today, reopen=reopen)
        return None


@contextmanager
def failing(module: Any, name: str, error: type[Exception]) -> Iterator[None]:
    """Have a function of a module do its work, then fail.

    Each time with an error of its own: one that is kept would keep frames, and they a connection.
    """
    work: Callable[..., None] = getattr(module, name)

    def fail(*arguments: Any) -> None:
        work(*arguments)
        raise error("planted")

    with patch.object(module, name, fail):
        yield
