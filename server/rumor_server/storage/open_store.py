"""Open the database that the settings name: as a store, or for tallies that travel."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rumor_server.errors import StoreError
from rumor_server.settings import Settings
from rumor_server.storage.sqlite import tally_transfer as sqlite_transfer
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.store import Store
from rumor_server.storage.tally_transfer import Transfer


def open_store(settings: Settings) -> Store:
    """Return the store in the database of `settings`. Raises StoreError, UnknownSchema."""
    if not settings.database_url:
        return SqliteStore(settings.database, busy_seconds=settings.busy_seconds)
    require_postgres()
    from rumor_server.storage.postgres.store import PostgresStore

    return PostgresStore(settings.database_url, busy_seconds=settings.busy_seconds)


def open_transfer(settings: Settings, *, reads_only: bool) -> AbstractContextManager[Transfer]:
    """Return a context that is one transaction: whole, or none of it where an error leaves it.

    Raises StoreError, UnknownSchema, and StoreUnavailable where trying again is safe and may help.
    """
    if not settings.database_url:
        open_file = sqlite_transfer.reading if reads_only else sqlite_transfer.writing
        return open_file(settings.database, settings.busy_seconds)
    require_postgres()
    from rumor_server.storage.postgres import tally_transfer as postgres_transfer

    connect = postgres_transfer.reading if reads_only else postgres_transfer.writing
    return connect(settings.database_url, settings.busy_seconds)


def require_postgres() -> None:
    """Raise StoreError, with what to do, unless what PostgreSQL needs is installed."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError:
        raise StoreError(
            "PostgreSQL needs more than is installed; run: pip install 'rumor[postgres]'"
        ) from None
    del psycopg, psycopg_pool
