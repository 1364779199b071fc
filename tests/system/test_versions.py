"""What earlier versions stored and said is understood: their files and their recorded wire."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden import stored, wire
from tests.golden.opening import Opened
from tests.golden.world import OLD

WIRE = json.loads(wire.WIRE.read_text("utf-8"))
EXPECTED = json.loads((OLD / "expected.json").read_text("utf-8"))
_NUMBERS = ("n", "status", "revisions", "first_day", "last_day", "row_count")


def test_answers_devices_of_version_0_1(tmp_path: Path) -> None:
    """Each recorded request gets the verdicts, reasons and statuses that it got then."""
    assert wire.differences(tmp_path, WIRE) == []


def test_sees_a_changed_verdict(tmp_path: Path) -> None:
    """A collector that said something else of one report would be found."""
    section = json.loads(json.dumps(WIRE["collector"][0]))
    section["exchanges"] = section["exchanges"][:2]
    section["exchanges"][1]["answer"]["body"]["results"][0]["verdict"] = "accepted"
    (found,) = wire.differences(tmp_path, {"collector": [section]})
    assert found.startswith("duplicate in JSON")


@pytest.mark.parametrize("told", WIRE["client"], ids=lambda told: str(told["status"]))
def test_hears_collectors_of_version_0_1(told: dict[str, Any]) -> None:
    """A client does with each recorded answer what the client of 0.1 did."""
    assert wire.outcome(told) == told["outcome"]


def test_upgrades_the_sqlite_file_of_version_0_1(tmp_path: Path) -> None:
    """The stored file is upgraded: tallies, ids, budgets, tombstones and keys are still known."""
    with stored.reopened(tmp_path) as running:
        check(running, EXPECTED["sqlite"])


@pytest.mark.slow
def test_upgrades_the_postgresql_database_of_version_0_1(tmp_path: Path) -> None:
    """The stored dump is upgraded: tallies, ids, budgets, tombstones and keys are still known."""
    if not stored.has_postgres():
        pytest.skip("PostgreSQL is not installed")
    with (
        stored.loaded_dump() as url,
        stored.reopened(tmp_path, database_url=url) as running,
    ):
        check(running, EXPECTED["postgres"])


def test_opens_the_device_state_of_version_0_1(tmp_path: Path) -> None:
    """Consent, ledger, permanent answers, what waits and what was sent are still known."""
    with stored.stored_device(tmp_path / "state") as client:
        assert stored.told_by_device(client) == EXPECTED["device"]
        assert client.flush().accepted == len(EXPECTED["device"]["waiting"])
        # Another answer of the same value costs the life of a memoised metric nothing.
        before = client.status().spent_life
        assert client.record("habit", "a").recorded
        assert client.status().spent_life == before


def check(running: Opened, expected: dict[str, Any]) -> None:
    """Compare a collector on a database of 0.1 with what 0.1 said on it."""
    now = stored.estimates(running)
    for metric, then in expected["estimates"].items():
        assert {k: now[metric][k] for k in _NUMBERS} == {k: then[k] for k in _NUMBERS}
        if len(then["revisions"]) > 1:
            # Version 0.1 weighed revisions by errors that follow the estimates (S-04).
            shares = [row["frequency"] for row in now[metric]["rows"]]
            assert sum(shares) == pytest.approx(1, abs=1e-6)
            continue
        found = [(row["value"], row["n"], row["frequency"]) for row in now[metric]["rows"]]
        assert found == [(row["value"], row["n"], row["frequency"]) for row in then["rows"]]
    again = stored.after(running, expected["key"], expected["exchanges"])
    assert wire.changed(expected["exchanges"], again) == []
