"""Open the store that the settings name."""

from __future__ import annotations

from rumor_server.errors import StoreError
from rumor_server.settings import Settings
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.store import Store


def open_store(settings: Settings) -> Store:
    """Return the store in the database of `settings`. Raises StoreError, UnknownSchema."""
    if not settings.database_url:
        return SqliteStore(settings.database, busy_seconds=settings.busy_seconds)
    require_postgres()
    from rumor_server.storage.postgres.store import PostgresStore

    return PostgresStore(settings.database_url, busy_seconds=settings.busy_seconds)


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
