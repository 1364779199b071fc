"""C-02: a damaged tally or backup is told as such wherever it is met, and no number made of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.harness.collector import TODAY, batch, registry, report
from tests.server.storage.store_contract import screened

from rumor_server.clock import utc_now
from rumor_server.errors import StoreError
from rumor_server.settings import Settings
from rumor_server.storage.open_store import open_transfer
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite.backup import back_up, restore
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.tally_invariants import DamagedTally
from rumor_server.storage.tally_transfer import check_tallies

THEME = registry().metric("theme")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of twelve reports."""
    path = tmp_path / "rumor.sqlite3"
    with closing(SqliteStore(path)) as store:
        store.declare(registry())
        store.commit([screened(batch(report())) for _ in range(12)])
    return path


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a tally's cells, as a bad disk would, and leave SQLite's structure whole."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rows = connection.execute(
            "SELECT series, cells FROM tallies WHERE series = "
            "(SELECT series FROM series WHERE metric = 'theme')"
        ).fetchall()
        ((series, cells),) = rows
        changed = np.frombuffer(cells, np.uint8).copy()
        changed[bit // 8] ^= 1 << bit % 8
        connection.execute(
            "UPDATE tallies SET cells = ? WHERE series = ?", (changed.tobytes(), series)
        )


@pytest.mark.parametrize("bit", [0, 1, 21, 62, 63, 64 + 4])
def test_c02_one_flipped_bit_is_no_number(database: Path, tmp_path: Path, bit: int) -> None:
    """A bit of a cell, low or high, of sign or not: refused on read, in backups, by the check."""
    flip(database, bit)
    with closing(SqliteStore(database)) as store, pytest.raises(DamagedTally, match="theme"):
        store.tally(THEME, TODAY, TODAY)
    with (
        pytest.raises(DamagedTally),
        open_transfer(Settings(database=database), reads_only=True) as transfer,
    ):
        check_tallies(transfer)
    with pytest.raises(DamagedTally):
        back_up(database, tmp_path / "backup", utc_now())
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize("place", ["cell", "elsewhere", "checksum"])
def test_c02_a_backup_that_changed_is_not_restored(
    database: Path, tmp_path: Path, place: str
) -> None:
    """A backup that differs from its SHA-256 is refused, and the database stays as it was."""
    backup, receipts = tmp_path / "backup", Receipts(tmp_path / "receipts")
    back_up(database, backup, utc_now())
    beside = tmp_path / "backup.sha256"
    assert beside.stat().st_mode & 0o077 == 0
    if place == "cell":
        flip(backup, 1)
    elif place == "elsewhere":
        raw = bytearray(backup.read_bytes())
        raw[-1] ^= 1
        backup.write_bytes(raw)
    else:
        beside.write_text("0" * 64)
    before = database.read_bytes()
    with pytest.raises(StoreError, match="changed or damaged"):
        restore(backup, database, receipts, TODAY, reopen=False)
    assert database.read_bytes() == before
    if place == "cell":
        beside.unlink()
        with pytest.raises(DamagedTally):
            restore(backup, database, receipts, TODAY, reopen=False)


def test_c02_a_backup_without_a_checksum_is_checked_by_itself(
    database: Path, tmp_path: Path
) -> None:
    """A backup of 0.1 has none beside it: it is restored, and that is said."""
    backup, receipts = tmp_path / "backup", Receipts(tmp_path / "receipts")
    back_up(database, backup, utc_now())
    assert restore(backup, database, receipts, TODAY, reopen=False).verified
    (tmp_path / "backup.sha256").unlink()
    assert not restore(backup, database, receipts, TODAY, reopen=False).verified
