"""The numbered steps from an empty database to the one that this program knows, in SQL.

A step is never edited once it was released: databases out there have run it. Each runs in one
transaction that records it. What an older program that still runs would trip over stands in steps
after `EXPANDED`: a database on PostgreSQL can be served from there on, so nodes are replaced one by
one between `rumor db upgrade --expand` and `rumor db upgrade`.
"""

from __future__ import annotations

from importlib.resources import files

from rumor_server.errors import UnknownSchema

# The step up to which programs of the version before run beside those of this one.
EXPANDED = 2


def steps(database: str) -> list[str]:
    """Return the scripts for `sqlite` or `postgres`; number i of them makes version i + 1."""
    folder = files("rumor_server.storage.migrations").joinpath(database)
    scripts = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda one: one.name
    )
    return [script.read_text("utf-8") for script in scripts]


def check_version(found: int, known: int, oldest: int | None = None) -> None:
    """Raise UnknownSchema, with what to do, unless this program can work on a database's version.

    Those are `known`, and what is between `oldest` and it.
    """
    if found > known:
        raise UnknownSchema(
            f"the database has schema version {found}, and this program knows {known}; "
            "install the version of Rumor that wrote it"
        )
    if found < (known if oldest is None else oldest):
        raise UnknownSchema(
            f"the database has schema version {found}, and this program needs {known}; "
            "make a backup, then run `rumor db upgrade`"
        )
