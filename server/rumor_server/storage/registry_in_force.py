"""One registry is in force on a database: the one declared last.

Two processes with different registries would tell a device different things of the same report,
and one of them would make it throw the report away. So a process that was overtaken takes no more
reports: it answers 503, and the devices' retries reach a process that knows what they ask.
"""

from __future__ import annotations

from rumor_server.errors import StoreUnavailable
from rumor_server.storage.operator_tables import Control


class RegistrySuperseded(StoreUnavailable):
    """Another process put another registry in force; this one has to be started with that."""

    def __init__(self) -> None:
        super().__init__(
            "another process adopted another registry on this database; "
            "start this one again with the same registry"
        )


def put_in_force(control: Control, sha256: str) -> None:
    """Put a registry in force."""
    with control.transaction() as statements:
        statements.run(
            "INSERT INTO control_registry VALUES (1, ?, 1) ON CONFLICT (one) DO UPDATE "
            "SET sha256 = excluded.sha256, adopted = control_registry.adopted + 1",
            (sha256,),
        )


def in_force(control: Control) -> str | None:
    """Return the SHA-256 of the registry in force, or None before any was."""
    with control.transaction(reads_only=True) as statements:
        rows = statements.rows("SELECT sha256 FROM control_registry")
    return rows[0][0] if rows else None
