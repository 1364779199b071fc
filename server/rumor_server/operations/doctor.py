"""Look a collector over: what is wrong, what will be, and what to do about it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from rumor_server.access import Scope, open_scopes, parse_proxies
from rumor_server.errors import SettingsError
from rumor_server.settings import Settings
from rumor_server.storage.figures import oldest_id, read_figures
from rumor_server.storage.keys import list_keys
from rumor_server.storage.open_store import open_store, open_transfer
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.registry_in_force import in_force
from rumor_server.storage.tally_invariants import DamagedTally
from rumor_server.storage.tally_transfer import check_tallies
from rumor_shared.errors import RumorError
from rumor_shared.os_errors import explain
from rumor_shared.registry import Registry, load_registry

# Before this release, a checkpoint and a commit of two processes may lose pages ("WAL-reset
# bug", sqlite.org/wal.html).
SAFE_SQLITE = (3, 51, 3)
# A clock this far behind or ahead of the newest report is wrong, or nobody reports any more.
_SKEW = timedelta(days=2)
# This long before a key or metric ends is when somebody should hear of it.
_NOTICE = timedelta(days=14)
_NEAR = 4
# A collector empties the write-ahead file within five seconds of a commit.
_ERASED_SECONDS = 10


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    about: str
    detail: str


def run_checks(settings: Settings, today: date) -> list[Finding]:
    """Return a finding for each thing looked at. A database that doesn't exist is not made."""
    found = [*_access(settings), *_sqlite(settings)]
    registry = _registry(settings, today, found)
    if not settings.database_url and not settings.database.exists():
        found.append(Finding(Level.WARNING, "database", "there is none; `rumor serve` makes it"))
        return found
    try:
        with closing(open_store(settings)) as store, closing(Control(settings)) as control:
            store.check()
            found.append(Finding(Level.OK, "database", "opens, and its schema is known"))
            looks: list[Callable[[], Iterator[Finding]]] = [
                lambda: _retention(control, registry, today),
                lambda: _clock(control, today),
                lambda: _keys(control, settings, today),
                lambda: _in_force(control, registry),
                lambda: _tallies(settings),
            ]
            for look in looks:
                found += look()
    except (RumorError, OSError) as error:
        found.append(Finding(Level.WRONG, "database", str(error)))
    return found


def _access(settings: Settings) -> Iterator[Finding]:
    try:
        is_open = open_scopes(settings)
        parse_proxies(settings.trusted_proxies)
    except SettingsError as error:
        yield Finding(Level.WRONG, "access", str(error))
        return
    names = ", ".join(sorted(is_open)) or "nothing"
    level = Level.WARNING if Scope.ADMIN in is_open and settings.metrics_access else Level.OK
    yield Finding(level, "access", f"open without a key: {names}")


def _sqlite(settings: Settings) -> Iterator[Finding]:
    if settings.database_url:
        return
    version = sqlite3.sqlite_version_info
    if version < SAFE_SQLITE:
        yield Finding(
            Level.WARNING,
            "workers",
            f"SQLite {sqlite3.sqlite_version}: run one process a file; several are safe from "
            f"{'.'.join(map(str, SAFE_SQLITE))} on, or with PostgreSQL",
        )
    else:
        yield Finding(Level.OK, "workers", f"SQLite {sqlite3.sqlite_version}: several may share it")
    folder = settings.database.absolute().parent
    free = shutil.disk_usage(folder).free
    detail = f"{free >> 20} MiB free, {settings.reserve_bytes >> 20} MiB kept in reserve"
    level = Level.OK
    if free < settings.reserve_bytes:
        level, detail = Level.WRONG, detail + "; reports are refused with 507: free some space"
    elif free < _NEAR * settings.reserve_bytes:
        level, detail = Level.WARNING, detail + "; free some space"
    yield Finding(level, "disk", detail)
    if settings.database.exists():
        yield from _erasure(settings)
        yield from _file(settings)


def _tallies(settings: Settings) -> Iterator[Finding]:
    try:
        with open_transfer(settings, reads_only=True) as transfer:
            check_tallies(transfer)
    except DamagedTally as error:
        yield Finding(Level.WRONG, "tallies", str(error))
    else:
        yield Finding(Level.OK, "tallies", "hold what reports can have brought")


def _erasure(settings: Settings) -> Iterator[Finding]:
    ahead = settings.database.with_name(settings.database.name + "-wal")
    found = ahead.stat() if ahead.exists() else None
    if found is not None and found.st_size and time.time() - found.st_mtime > _ERASED_SECONDS:
        yield Finding(
            Level.WARNING,
            "erasure",
            "pending: what was deleted is still in the write-ahead file; end the program that "
            "reads the database, or start the collector that was killed",
        )


def _file(settings: Settings) -> Iterator[Finding]:
    mode = stat.S_IMODE(settings.database.stat().st_mode)
    if mode & 0o077:
        yield Finding(
            Level.WARNING, "file", f"others may read the database: chmod 600 (is {mode:o})"
        )
    elif not os.access(settings.database, os.W_OK):
        yield Finding(Level.WRONG, "file", "the database can't be written by this user")
    else:
        yield Finding(Level.OK, "file", "only its owner may read the database")
    with closing(
        sqlite3.connect(f"{settings.database.absolute().as_uri()}?mode=ro", uri=True)
    ) as one:
        try:
            ((verdict,),) = one.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.DatabaseError as error:
            verdict = str(error)
    if verdict == "ok":
        yield Finding(Level.OK, "pages", "no page of the database is damaged")
    else:
        yield Finding(
            Level.WRONG, "pages", f"the database is damaged ({verdict}): restore a backup"
        )


def _registry(settings: Settings, today: date, found: list[Finding]) -> Registry | None:
    try:
        registry = load_registry(settings.registry)
    except (RumorError, OSError) as error:
        said = explain(error) if isinstance(error, OSError) else str(error)
        found.append(Finding(Level.WRONG, "registry", said))
        return None
    problems = [(Level.WRONG, one) for one in registry.expired(today)]
    soon = [one for one in registry.expired(today + _NOTICE) if one not in registry.expired(today)]
    problems += [(Level.WARNING, one) for one in (*soon, *registry.warnings())]
    found += [Finding(level, "registry", str(one)) for level, one in problems]
    if not problems:
        found.append(
            Finding(Level.OK, "registry", f"{len(registry.metrics)} metrics, none expires")
        )
    return registry


def _retention(control: Control, registry: Registry | None, today: date) -> Iterator[Finding]:
    kept = [day for day in (read_figures(control).oldest_kept, oldest_id(control)) if day]
    if not kept:
        yield Finding(Level.OK, "retention", "nothing is kept of any device")
        return
    oldest = min(kept)
    if registry is None:
        yield Finding(
            Level.WARNING,
            "retention",
            f"the oldest ids and spend are of {oldest}; without a registry nobody knows for how "
            "long they may be kept",
        )
        return
    past = (today - timedelta(days=registry.max_age_days) - oldest).days
    if past > 0:
        yield Finding(
            Level.WRONG,
            "retention",
            f"ids and spend of {oldest} outlived max_age_days by {past}; "
            "a running collector closes days by itself: see its log",
        )
    else:
        yield Finding(Level.OK, "retention", f"the oldest ids and spend are of {oldest}")


def _clock(control: Control, today: date) -> Iterator[Finding]:
    figures = read_figures(control)
    if figures.closed_through is not None and figures.closed_through >= today:
        yield Finding(
            Level.WRONG,
            "clock",
            f"it is {today}, and days are closed through {figures.closed_through}: a clock was "
            "ahead, or a backup was restored; no report is taken before the day after",
        )
    elif figures.newest_day is not None and figures.newest_day > today + _SKEW:
        yield Finding(
            Level.WRONG,
            "clock",
            f"it is {today}, and a report of {figures.newest_day} was counted: set the clock",
        )
    else:
        yield Finding(Level.OK, "clock", f"it is {today} (UTC); compare that with your own clock")


def _keys(control: Control, settings: Settings, today: date) -> Iterator[Finding]:
    keys = [key for key in list_keys(control) if key.valid(today)]
    for name, scope in (
        ("ingest_access", Scope.INGEST),
        ("read_access", Scope.ANALYST),
        ("metrics_access", Scope.ADMIN),
    ):
        if getattr(settings, name) == "key" and not any(key.scope.allows(scope) for key in keys):
            yield Finding(
                Level.WRONG,
                "keys",
                f"{name} wants a key and no valid one has the scope "
                f"{scope}: rumor keys create NAME --scope {scope}",
            )
    for key in keys:
        if key.expires is not None and key.expires < today + _NOTICE:
            yield Finding(Level.WARNING, "keys", f"{key.name} expires on {key.expires}")
    yield Finding(Level.OK, "keys", f"{len(keys)} valid")


def _in_force(control: Control, registry: Registry | None) -> Iterator[Finding]:
    sha256 = in_force(control)
    if registry is not None and sha256 not in (None, registry.sha256):
        yield Finding(
            Level.WARNING,
            "registry",
            "the file is not the registry in force: restart the collectors with it",
        )
