"""The SQLite schema of the state file, and how a file proves that it is one of ours."""

from __future__ import annotations

import sqlite3
from enum import Enum
from pathlib import Path

# "RUMR": what `file` and SQLite's own tools show for a state file.
APPLICATION_ID = 0x52554D52
SCHEMA_VERSION = 1
# Versions are counted by one: what lies beyond is a damaged field and no later release's.
_LAST_VERSION = 1000

# Nothing newer than SQLite 3.24 of 2018: system Pythons still link such old libraries.
# `WITHOUT ROWID` where the key is the content: no second copy of it to overwrite at a denial.
_TABLES = """
CREATE TABLE device (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    epoch INTEGER NOT NULL,
    secret BLOB,
    cohort INTEGER,
    outbox_reports INTEGER NOT NULL,
    outbox_bytes INTEGER NOT NULL,
    beyond_recall INTEGER NOT NULL,
    erasure_pending INTEGER NOT NULL
);
INSERT INTO device VALUES (1, 0, NULL, NULL, 0, 0, 0, 0);
CREATE TABLE consent (
    purpose TEXT PRIMARY KEY,
    choice TEXT NOT NULL CHECK (choice IN ('granted', 'denied')),
    as_of TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE ledger (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    day TEXT NOT NULL,
    spent INTEGER NOT NULL CHECK (spent >= 0),
    PRIMARY KEY (scope, name, day)
) WITHOUT ROWID;
CREATE TABLE series (
    epoch INTEGER NOT NULL,
    metric TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cohorts INTEGER NOT NULL,
    day TEXT NOT NULL,
    reports INTEGER NOT NULL,
    PRIMARY KEY (epoch, metric, revision, cohorts, day)
) WITHOUT ROWID;
CREATE TABLE memo (
    epoch INTEGER NOT NULL,
    metric TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cohorts INTEGER NOT NULL,
    tag BLOB NOT NULL,
    PRIMARY KEY (epoch, metric, revision, cohorts, tag)
) WITHOUT ROWID;
CREATE TABLE permanent (
    epoch INTEGER NOT NULL,
    metric TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cohorts INTEGER NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (epoch, metric, revision, cohorts)
) WITHOUT ROWID;
CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    day TEXT NOT NULL,
    metric TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cohort INTEGER NOT NULL,
    payload BLOB NOT NULL,
    purpose TEXT NOT NULL,
    attempted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE dropped (
    reason TEXT PRIMARY KEY,
    reports INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE sent (
    id BLOB PRIMARY KEY,
    day TEXT NOT NULL,
    metric TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cohort INTEGER NOT NULL,
    payload BLOB NOT NULL,
    purpose TEXT NOT NULL,
    verdict TEXT,
    reason TEXT
) WITHOUT ROWID
"""


# Tables that came later without a new version: an earlier release ignores them, so that an app can
# be rolled back.
_ADDED = """
CREATE TABLE IF NOT EXISTS note (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID
"""


class Origin(Enum):
    """What a file turns out to be."""

    OURS = "ours"
    EMPTY = "empty"
    UNKNOWN_VERSION = "of a version this release doesn't know"
    LATER_VERSION = "of a later release"
    DAMAGED = "damaged or no database"
    FOREIGN = "of another program"


def origin(connection: sqlite3.Connection) -> Origin:
    """Return what the opened file is. Raises sqlite3.DatabaseError where SQLite can't tell."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        if SCHEMA_VERSION < version <= _LAST_VERSION:
            return Origin.LATER_VERSION
        if version != SCHEMA_VERSION:
            return Origin.UNKNOWN_VERSION
        (named,) = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'device'"
        ).fetchone()
        if not named:
            # A collector's database bears the same mark.
            return Origin.FOREIGN
        # A file cut short by a full disk or a bad copy: a millisecond for a full outbox.
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        return Origin.OURS if verdict == "ok" else Origin.DAMAGED
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (ours,) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE name IN"
        " ('device', 'consent', 'ledger', 'series', 'outbox', 'sent')"
    ).fetchone()
    if ours == 6:
        # All our tables under another mark: what is damaged is the mark.
        return Origin.DAMAGED
    return Origin.FOREIGN if application or version or tables else Origin.EMPTY


def header_is_damaged(path: Path) -> bool:
    """Return whether a file of ours has a header that SQLite can't read, or only reads.

    Some such headers are refused with no word of damage. https://sqlite.org/fileformat2.html,
    section 1.3, has the fields. Only for a file that SQLite has refused: to close it again drops
    every lock that this process has on it (https://sqlite.org/howtocorrupt.html, section 2.2).
    """
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        return False
    page = int.from_bytes(header[16:18], "big")
    page_size = page == 1 or (512 <= page <= 32768 and page & (page - 1) == 0)
    versions = header[18] in (1, 2) and header[19] in (1, 2)
    fractions = header[21:24] == bytes((64, 32, 32))
    formats = int.from_bytes(header[44:48], "big") in range(5)
    encoding = int.from_bytes(header[56:60], "big") in range(4)
    return not (page_size and versions and fractions and formats and encoding)


def complete(connection: sqlite3.Connection) -> None:
    """Add the tables that the file's release did not have."""
    connection.execute(_ADDED)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, in one transaction that also records the version."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        if origin(connection) is Origin.EMPTY:
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            complete(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
