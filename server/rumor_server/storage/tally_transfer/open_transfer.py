"""Open the database that the settings name, for tallies that travel."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rumor_server.settings import Settings
from rumor_server.storage.open_store import require_postgres
from rumor_server.storage.sqlite import tally_transfer as sqlite_exchange
from rumor_server.storage.tally_transfer.transfer import Exchange


def open_exchange(settings: Settings, *, reads_only: bool) -> AbstractContextManager[Exchange]:
    """Return a context that is one transaction: whole, or none of it where an error leaves it.

    Raises StoreError, UnknownSchema, and StoreUnavailable where trying again is safe and may help.
    """
    if not settings.database_url:
        open_file = sqlite_exchange.reading if reads_only else sqlite_exchange.writing
        return open_file(settings.database, settings.busy_seconds)
    require_postgres()
    from rumor_server.storage.postgres import tally_transfer as postgres_exchange

    connect = postgres_exchange.reading if reads_only else postgres_exchange.writing
    return connect(settings.database_url, settings.busy_seconds)
