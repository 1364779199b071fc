"""The state file: private, durable, honest about what it can't read, and rid of what was erased."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import PURPOSE, RAPPOR, ROOT, device, registry_with

from rumor_client import Client, RecordStatus, SqliteState, StateBusy, StateUnavailable
from rumor_client.process import log_once as warn
from rumor_client.state.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION
from rumor_client.testing import FakeCollector


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the state lies."""
    return tmp_path / "data" / "state.sqlite3"


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test meets a process that has not warned yet."""
    monkeypatch.setattr(warn, "_warned", set())


def all_bytes(path: Path) -> bytes:
    """Return what the file and everything beside it holds."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


def test_the_file_is_the_owners_alone(path: Path) -> None:
    """File, log and index have mode 0600 in a folder of mode 0700, also where the umask is open."""
    before = os.umask(0)
    try:
        client = device(state=path)
        client.record("theme", "dark")
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    files = (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.granted")
    assert modes == dict.fromkeys(files, 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    client.close()


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    """Opening a state takes back permissions that something else gave."""
    device(state=path).close()
    path.chmod(0o644)
    device(state=path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every connection that is opened, in order: what SQLite was asked for shows there alone."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*given: Any, **more: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return opened


def test_the_file_is_durable_and_marked(path: Path, connections: list[sqlite3.Connection]) -> None:
    """The log is written ahead and synced at each commit; deletions overwrite; the version is
    recorded.
    """
    state = SqliteState(path)
    with state.transaction():
        pass
    (connection,) = connections
    found = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in (
            "journal_mode",
            "synchronous",
            "secure_delete",
            "application_id",
            "user_version",
        )
    }
    state.close()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "application_id": APPLICATION_ID,
        "user_version": SCHEMA_VERSION,
    }


def test_nothing_is_made_without_consent(path: Path) -> None:
    """Without consent not even the folder appears."""
    client = device(state=path, granted=False)
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    assert client.flush().waiting == 0
    client.close()
    assert not path.parent.exists()


def test_what_was_recorded_survives_the_process(path: Path) -> None:
    """A process that is killed right after `record` returns has lost nothing."""
    script = f"""
import os
from tests.harness.devices import device
from pathlib import Path
assert device(state=Path({str(path)!r})).record("theme", "dark").recorded
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT)
    client = device(state=path, granted=False)
    assert client.record("theme", "dark").recorded
    assert client.status().waiting == 2
    assert client.status().spent_today == 2_000_000
    client.close()


def test_a_denial_leaves_no_byte_of_secret_memo_or_outbox(path: Path) -> None:
    """Secret, permanent answer, tag, payload and ids are gone from file, log and free pages."""
    client = device(registry_with({"browser": RAPPOR}, daily_epsilon=1000), state=path)
    for number in range(50):
        assert client.record("browser", f"value {number % 3}").recorded
    with client.state.transaction() as transaction:
        identity = transaction.identity()
        assert identity is not None
        waiting = [item.report for item in transaction.waiting(None, 0, 99)]
    connection = sqlite3.connect(path)
    (tag,) = connection.execute("SELECT tag FROM memo").fetchone()
    connection.close()
    traces = [identity.secret, tag, *(report.id for report in waiting)]
    assert all(trace in all_bytes(path) for trace in traces)
    assert client.consent.deny()
    assert not client.status().erasure_pending
    assert [trace for trace in traces if trace in all_bytes(path)] == []
    client.close()
    assert [trace for trace in traces if trace in all_bytes(path)] == []


def test_an_erasure_that_a_reader_held_up_is_done_at_the_next_open(path: Path) -> None:
    """While another process reads, the erasure is reported as pending; the next open ends it."""
    client = device(state=path)
    client.record("theme", "dark")
    with client.state.transaction() as transaction:
        identity = transaction.identity()
    assert identity is not None
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM device").fetchone()
    assert not client.consent.deny()
    assert client.status().erasure_pending
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    reader.execute("COMMIT")
    reader.close()
    client.state.close()
    assert not client.status().erasure_pending
    assert identity.secret not in all_bytes(path)
    client.close()


def test_a_purposes_denial_is_kept_over_restarts_and_upgrades(path: Path) -> None:
    """A new registry, revision or purpose does not undo a denial."""
    client = device(state=path)
    client.consent.deny()
    client.close()
    changed = registry_with({"theme": {**RAPPOR, "revision": 2}, "other": RAPPOR})
    again = device(changed, state=path, granted=False)
    assert again.record("other", "x").status is RecordStatus.NO_CONSENT
    assert again.consent.effective(PURPOSE).choice == "denied"
    again.close()


def damage_header(path: Path) -> None:
    """Overwrite the start."""
    with path.open("r+b") as file:
        file.write(b"\x00garbage" * 20)


def cut_short(path: Path) -> None:
    """Lose the second half."""
    os.truncate(path, path.stat().st_size // 2)


def run_sql(path: Path, *statements: str) -> None:
    """Change the file behind the client's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def set_byte(path: Path, at: int, byte: int) -> None:
    """Overwrite one byte."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([byte]))


def lose_the_mark(path: Path) -> None:
    """Overwrite the application's number."""
    run_sql(path, "PRAGMA application_id = 7")


def spoil_the_version(path: Path) -> None:
    """Flip a high bit of the schema's number."""
    run_sql(path, f"PRAGMA user_version = {SCHEMA_VERSION + 2**20}")


def forbid_writing(path: Path) -> None:
    """Raise the write version, which SQLite takes as read-only for ever."""
    set_byte(path, 18, 9)


def spoil_the_format(path: Path) -> None:
    """Raise the schema's format number, which is an error without a code of damage."""
    set_byte(path, 47, 9)


def spoil_a_page_size(path: Path) -> None:
    """Make the size of a page no power of two."""
    set_byte(path, 17, 3)


@pytest.mark.parametrize(
    "harm",
    [
        damage_header,
        cut_short,
        lose_the_mark,
        spoil_the_version,
        forbid_writing,
        spoil_the_format,
        spoil_a_page_size,
    ],
)
def test_a_file_that_cant_be_used_is_set_aside_and_never_replayed(
    harm: object, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The app goes on with one warning and an empty state; the old file is kept under a new name,
    and goes with the next denial.
    """
    assert callable(harm)
    client = device(state=path)
    for _ in range(20):
        client.record("theme", "dark")
    client.close()
    harm(path)
    collector = FakeCollector()
    with caplog.at_level(logging.WARNING):
        again = device(state=path, granted=False, transport=collector)
        assert not again.record("theme", "dark").recorded
        again.consent.grant()
        assert again.record("theme", "dark").recorded
        again.flush()
    assert len(collector.counted) == 1
    # A file that only refuses to be written is met by the first report.
    assert len(caplog.records) <= 2
    assert caplog.text.count("set-aside-1") == 1
    assert list(path.parent.glob("*.set-aside-1"))
    again.consent.deny()
    assert not list(path.parent.glob("*.set-aside-*"))
    again.close()


DAMAGE = {
    "a day": "UPDATE consent SET as_of = 'never'",
    "a secret": "UPDATE device SET secret = 'text'",
    "an epoch": "UPDATE device SET epoch = 'one'",
    "a sum": "UPDATE ledger SET spent = 'much'",
    "a count": "UPDATE series SET reports = x'00'",
    "a payload": "UPDATE outbox SET payload = 17",
    "a size": "UPDATE device SET outbox_reports = 'two'",
    "a report's day": "UPDATE outbox SET day = 'Monday'",
    "the device": "DELETE FROM device",
}


@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE)
def test_damage_inside_a_sound_file_raises_nothing(harm: str, path: Path) -> None:
    """Where a row holds what no release has written, `record` and `flush` answer with a status, and
    the app goes on with an empty state (D-05).
    """
    client = device(state=path, transport=FakeCollector())
    client.record("theme", "dark")
    client.close()
    run_sql(path, "PRAGMA ignore_check_constraints = ON", harm)
    again = device(state=path, granted=False, transport=FakeCollector())
    seen = [again.record("theme", "dark").status for _ in range(2)]
    again.flush()
    assert set(seen) <= {"recorded", "unavailable", "no_consent"}
    again.record("theme", "dark")
    again.consent.grant()
    assert again.record("theme", "dark").recorded
    again.close()


def test_a_file_of_a_later_release_is_left_as_it_is(path: Path) -> None:
    """An app that was rolled back records nothing, and starts no new lifetime (D-10)."""
    device(state=path).close()
    client = device(state=path)
    client.record("theme", "dark")
    client.close()
    run_sql(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    again = device(state=path, granted=False)
    assert again.record("theme", "dark").status is RecordStatus.UNAVAILABLE
    with pytest.raises(StateUnavailable, match="of a later release, and is left as it is"):
        again.consent.grant()
    again.close()
    assert not list(path.parent.glob("*.set-aside-*"))
    run_sql(path, f"PRAGMA user_version = {SCHEMA_VERSION}")
    back = device(state=path, granted=False)
    assert (back.status().spent_life, back.status().waiting) == (1_000_000, 1)
    back.close()


@pytest.mark.parametrize("name", ["state[1].db", "a*b", "[!x]", "s?"])
def test_a_denial_deletes_what_was_set_aside_whatever_the_name(name: str, path: Path) -> None:
    """A name that is a pattern to a shell is found as it is written (D-10)."""
    file = path.with_name(name)
    device(state=file).close()
    client = device(state=file)
    client.record("theme", "dark")
    client.close()
    damage_header(file)
    again = device(state=file)
    assert [found.name for found in file.parent.iterdir() if "set-aside" in found.name]
    again.consent.deny()
    assert not [found.name for found in file.parent.iterdir() if "set-aside" in found.name]
    again.close()


@pytest.mark.parametrize("marked", [False, True], ids=["another's", "a collector's"])
def test_another_programs_database_is_never_touched(
    marked: bool, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Pointed at a database of another program, or of a collector, which bears our mark, nothing is
    recorded, and it stays as it was, its mode too.
    """
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (name TEXT)")
    if marked:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.close()
    path.chmod(0o644)
    before = path.read_bytes()
    client = device(state=path, granted=False)
    for _ in range(3):
        assert client.record("theme", "dark").status is RecordStatus.UNAVAILABLE
    client.close()
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(path.parent.iterdir()) == [path]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_folder_that_cant_be_made_stops_nothing_but_the_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the state has no place, `record` says so, with one warning, and the app goes on."""
    (tmp_path / "file").write_text("not a folder")
    client = device(state=tmp_path / "file" / "state", granted=False)
    with pytest.raises(StateUnavailable):
        client.consent.grant()
    for _ in range(3):
        assert client.record("theme", "dark").status in (
            RecordStatus.UNAVAILABLE,
            RecordStatus.NO_CONSENT,
        )
    assert len(caplog.records) <= 1
    client.close()


def test_a_full_disk_loses_nothing_but_the_new_report(
    path: Path, connections: list[sqlite3.Connection]
) -> None:
    """Where the file can't grow, `record` is unavailable, writes nothing, and recovers."""
    client = device(
        registry_with({"browser": {**RAPPOR, "bits": 4096}}, daily_epsilon=1000), state=path
    )
    assert client.record("browser", "x").recorded
    (pages,) = connections[-1].execute("PRAGMA page_count").fetchone()
    connections[-1].execute(f"PRAGMA max_page_count = {pages}")
    statuses = {client.record("browser", "x").status for _ in range(20)}
    # The connection is dropped with the fault, and the limit with the connection.
    assert statuses == {RecordStatus.UNAVAILABLE, RecordStatus.RECORDED}
    status = client.status()
    assert status.waiting == 20
    report = client.registry.metric("browser").mechanism.epsilon_report
    assert status.spent_today == status.waiting * report
    client.close()


def test_a_file_deleted_under_way_is_noticed(path: Path) -> None:
    """A state that someone deletes starts anew, instead of writing to a file without a name."""
    client = device(state=path)
    assert client.record("theme", "dark").recorded
    for file in path.parent.iterdir():
        file.unlink()
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    client.consent.grant()
    assert client.record("theme", "dark").recorded
    assert client.status().waiting == 1
    client.close()


def test_two_processes_share_one_file(path: Path) -> None:
    """Four processes that record into one file at once lose nothing and pass no cap."""
    setup = device(state=path)
    setup.close()
    script = f"""
from collections import Counter
from pathlib import Path
from tests.harness.devices import KRR, device, registry_with
registry = registry_with({{"theme": {{**KRR, "daily_epsilon": 100}}}})
client = device(registry, state=Path({str(path)!r}), granted=False)
seen = Counter()
while seen["recorded"] + seen["budget_exceeded"] < 40:
    seen[client.record("theme", "dark").status.value] += 1
client.close()
print(seen["recorded"])
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for _ in range(4)
    ]
    recorded = [int(process.communicate(timeout=60)[0]) for process in running]
    assert sum(recorded) == 100
    client = device(state=path, granted=False)
    assert client.status().waiting == 100
    assert client.status().spent_today == 100_000_000
    client.close()


def test_busy_is_said_within_the_time_for_a_lock(path: Path) -> None:
    """While another process writes, `record` answers busy after 250 ms, and nothing is spent."""
    client = device(state=path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert client.record("theme", "dark").status is RecordStatus.BUSY
    other.execute("ROLLBACK")
    other.close()
    assert client.status().spent_today == 0
    assert client.record("theme", "dark").recorded
    client.close()


def test_a_transaction_has_the_write_lock_from_its_start(path: Path) -> None:
    """A second writer is kept out before it has read anything: what it read could not be acted on
    (DB-01).
    """
    first, second = SqliteState(path), SqliteState(path)
    entered = []
    with first.transaction():
        with pytest.raises(StateBusy), second.transaction(wait=0.05):
            entered.append("second")
        assert entered == []
    first.close()
    second.close()


def test_the_turn_to_upload_is_one_among_processes(path: Path) -> None:
    """While one process uploads another does not; a killed one gives up its turn."""
    script = f"""
import time
from pathlib import Path
from rumor_client import SqliteState
with SqliteState(Path({str(path)!r})).upload_turn() as mine:
    print(mine, flush=True)
    time.sleep(60)
"""
    path.parent.mkdir()
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    state = SqliteState(path)
    with state.upload_turn() as mine:
        assert not mine
    holder.kill()
    holder.communicate()
    with state.upload_turn() as mine:
        assert mine


def test_the_default_place_is_one_for_each_app_or_collector(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a state an app has a file of its own; without a name, one for each collector."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")

    def place(app: str | None, endpoint: str) -> Path:
        with Client(registry_with(), endpoint, app=app, background=False) as client:
            assert isinstance(client.state, SqliteState)
            return client.state.path

    assert place("editor", "http://a.invalid") == tmp_path / "rumor" / "editor" / "rumor.sqlite3"
    assert place(None, "http://a.invalid") != place(None, "http://b.invalid")
    for wrong in ("", "../else", "a/b", ".hidden"):
        with pytest.raises(ValueError, match="app"):
            place(wrong, "http://a.invalid")
