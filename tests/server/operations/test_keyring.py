"""Keys: made once, kept as a hash, found in constant time, limited, expired and revoked."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from tests.harness.collector import TODAY

from rumor_server.access import Scope
from rumor_server.cli import keys as keys_command
from rumor_server.errors import KeyProblem, StoreUnavailable
from rumor_server.operations.keyring import create_key, find_key, revoke_key
from rumor_server.settings import Settings
from rumor_server.storage.keys import Key, list_keys, note_use
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.sqlite.store import SqliteStore


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    """The operator's tables in a new database."""
    settings = Settings(database=tmp_path / "rumor.sqlite3")
    with closing(SqliteStore(settings.database)), closing(Control(settings)) as opened:
        yield opened


def known(control: Control) -> dict[str, Key]:
    """All keys by their id."""
    return {key.id: key for key in list_keys(control)}


def test_finds_a_key_by_itself_alone(control: Control) -> None:
    """A key opens as it was given; any other character of it, and another scope, does not."""
    given = create_key(control, "app", Scope.INGEST, TODAY)
    keys = known(control)
    found = find_key(keys, given)
    assert found is not None
    assert (found.name, found.scope, found.valid(TODAY)) == ("app", Scope.INGEST, True)
    wrong = [
        given[:-1],
        given + "A",
        given.replace("ingest", "admin"),
        "",
        "rumor_x",
        given.upper(),
    ]
    wrong += [given[:-1] + ("A" if given[-1] != "A" else "B")]
    wrong += [re.sub(r"_[0-9a-f]{8}_", "_00000000_", given)]
    for other in wrong:
        assert find_key(keys, other) is None


def test_keeps_no_key(control: Control) -> None:
    """What was given is nowhere in the file: only a SHA-256 of its secret is."""
    given = create_key(control, "app", Scope.INGEST, TODAY)
    secret = given.rpartition("_")[2] if given.count("_") == 3 else given[-43:]
    folder = control.settings.database.parent
    for file in folder.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_compares_in_constant_time(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong secret and an unknown id are both compared, and by `hmac.compare_digest`."""
    compared = []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("rumor_server.operations.keyring.hmac.compare_digest", compare)
    given = create_key(control, "app", Scope.INGEST, TODAY)
    assert find_key({}, given) is None
    assert find_key(known(control), given) is not None
    assert compared == [(64, 64), (64, 64)]


@pytest.mark.parametrize(
    ("scope", "wanted", "allowed"),
    [
        (Scope.INGEST, Scope.INGEST, True),
        (Scope.INGEST, Scope.ANALYST, False),
        (Scope.INGEST, Scope.ADMIN, False),
        (Scope.ANALYST, Scope.ANALYST, True),
        (Scope.ANALYST, Scope.INGEST, False),
        (Scope.ANALYST, Scope.ADMIN, False),
        (Scope.ADMIN, Scope.ADMIN, True),
        (Scope.ADMIN, Scope.ANALYST, True),
        (Scope.ADMIN, Scope.INGEST, False),
    ],
)
def test_gives_a_scope_no_more_than_its_own(scope: Scope, wanted: Scope, allowed: bool) -> None:
    """An admin also reads; nothing else passes for another."""
    assert scope.allows(wanted) is allowed


def test_ends_with_expiry_and_revocation(control: Control) -> None:
    """A key is valid through its last day, and no longer once it is revoked."""
    create_key(control, "short", Scope.ANALYST, TODAY, expires=TODAY)
    (key,) = list_keys(control)
    assert key.valid(TODAY)
    assert not key.valid(TODAY + timedelta(days=1))
    assert not revoke_key(control, "short", TODAY).valid(TODAY)
    again = revoke_key(control, key.id, TODAY + timedelta(days=1))
    assert again.revoked == TODAY


def test_keeps_the_day_of_use_alone(control: Control) -> None:
    """The last use is kept as a day, and never moves back."""
    create_key(control, "app", Scope.INGEST, TODAY)
    (key,) = list_keys(control)
    for ago in (1, 0, 2):
        note_use(control, {key.id}, TODAY - timedelta(days=ago))
    assert list_keys(control)[0].last_used == TODAY


@pytest.mark.parametrize(
    ("name", "more", "named"),
    [
        ("", {}, "name"),
        ("a\nb", {}, "name"),
        ("taken", {}, "name"),
        ("x", {"expires": TODAY - timedelta(days=1)}, "expires"),
        ("x", {"day_reports": -1}, "day-reports"),
        ("x", {"minute_requests": 2**53}, "minute-requests"),
    ],
)
def test_names_what_is_wrong_with_a_new_key(
    control: Control, name: str, more: dict[str, object], named: str
) -> None:
    """A key that can't be made is refused by the part at fault."""
    create_key(control, "taken", Scope.INGEST, TODAY)
    with pytest.raises(KeyProblem) as caught:
        create_key(control, name, Scope.INGEST, TODAY, **more)  # type: ignore[arg-type]
    assert caught.value.name == named
    assert len(list_keys(control)) == 1


def test_fails_closed_and_recovers(control: Control) -> None:
    """While another process holds the database, the keys can't be written; afterwards they can."""
    quick = Control(Settings(database=control.settings.database, busy_seconds=0))
    with (
        closing(quick),
        closing(sqlite3.connect(control.settings.database, isolation_level=None)) as holder,
    ):
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            create_key(quick, "app", Scope.INGEST, TODAY)
        holder.execute("ROLLBACK")
        create_key(quick, "app", Scope.INGEST, TODAY)
        assert len(list_keys(quick)) == 1


def test_manages_keys_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rumor keys` makes a key, prints it once, lists it without it, and revokes it."""
    database = ["--database", str(tmp_path / "rumor.sqlite3")]
    words = ["create", "the app", "--scope", "ingest", "--day-reports", "1000", *database]
    assert keys_command.main(words) == 0
    given = capsys.readouterr().out.strip()
    assert re.fullmatch(r"rumor_ingest_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", given)
    assert keys_command.main(words) == 1
    assert "name: is taken" in capsys.readouterr().err
    assert keys_command.main(["list", *database]) == 0
    listed = capsys.readouterr().out
    assert "the app" in listed
    assert given[-43:] not in listed
    assert keys_command.main(["revoke", "the app", *database]) == 0
    assert keys_command.main(["revoke", "no one", *database]) == 1
    capsys.readouterr()
    assert keys_command.main(["list", "--json", *database]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["state"], row["reports/day"], row["scope"]) == ("revoked", 1000, "ingest")
