"""A denial needs no room on the disk, and is never lost (D-03)."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import KRR, PURPOSE, device, registry_with

from rumor_client import RecordStatus, SqliteState, StateUnavailable
from rumor_client.state.sqlite_transaction import SqliteTransaction


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the state lies."""
    return tmp_path / "state"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A disk on which nothing can be written to the state while the list is not empty."""
    refusing: list[bool] = []
    real = SqliteTransaction.erase

    def erase(self: SqliteTransaction, purpose: str | None) -> None:
        if refusing:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        real(self, purpose)

    monkeypatch.setattr(SqliteTransaction, "erase", erase)
    return refusing


def test_a_denial_on_a_full_disk_holds_for_the_next_process(path: Path, full: list[bool]) -> None:
    """It is told as an erasure that is pending; the next process finds a denial, and with room
    again the reports, the memo and the secret go.
    """
    client = device(state=path)
    client.record("theme", "dark")
    full.append(True)
    assert client.consent.deny() is False
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    for _ in range(2):
        later = device(state=path, granted=False)
        assert str(later.consent.effective(PURPOSE)).startswith("denied (from stored")
        assert later.record("theme", "dark").status is RecordStatus.NO_CONSENT
        assert later.status().waiting == 1
        later.close()
    full.clear()
    client.close()
    roomy = device(state=path, granted=False)
    status = roomy.status()
    assert (status.waiting, status.dropped) == (0, {"denied": 1})
    assert status.consent[PURPOSE].choice == "denied"
    with roomy.state.transaction() as transaction:
        assert transaction.identity() is None
    roomy.close()


def test_a_new_grant_does_not_bring_back_what_was_denied(path: Path, full: list[bool]) -> None:
    """Where two purposes were denied for want of room, a grant of one is a grant of that one."""
    registry = registry_with({"theme": KRR, "other": {**KRR, "purpose": "another purpose"}})
    client = device(registry, state=path)
    client.record("theme", "dark")
    client.record("other", "dark")
    full.append(True)
    client.consent.deny()
    full.clear()
    client.consent.grant(PURPOSE)
    assert client.consent.is_granted(PURPOSE)
    assert not client.consent.is_granted("another purpose")
    assert client.status().waiting == 0
    client.close()


def test_a_grant_of_an_earlier_release_holds_and_can_be_denied(
    path: Path, full: list[bool]
) -> None:
    """A file that was granted before there was a grant file gets one when it is next opened."""
    client = device(state=path)
    client.record("theme", "dark")
    client.close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM consent WHERE purpose = ''")
    connection.close()
    (path.parent / "state.granted").unlink()
    again = device(state=path, granted=False)
    assert again.consent.is_granted(PURPOSE)
    assert again.record("theme", "dark").recorded
    full.append(True)
    assert again.consent.deny() is False
    again.close()
    assert not device(state=path, granted=False).consent.is_granted(PURPOSE)


def test_a_denial_that_nothing_can_keep_says_so(
    path: Path, full: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not even a file can be removed (a read-only disk) it raises, and holds in this process
    all the same.
    """
    client = device(state=path)
    full.append(True)

    def refuse(path: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(StateUnavailable):
        client.consent.deny()
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    client.close()


@pytest.mark.parametrize("wait", [0.0, 0.25])
def test_whoever_removes_the_grant_file_denies(path: Path, wait: float) -> None:
    """The file's absence is a denial, also for a process that has the state open."""
    client = device(state=path)
    (path.parent / "state.granted").unlink()
    assert client.state.choices(wait)[PURPOSE][0] == "denied"
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    client.consent.grant()
    assert client.record("theme", "dark").recorded
    client.close()
    assert isinstance(client.state, SqliteState)
