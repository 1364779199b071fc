"""The pipeline's audit passes the installed client, and names every fault that is planted in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness import device_faults
from tests.harness.device_faults import SOURCE_FAULTS

from rumor_client.perturbation.mechanisms.local_hashing import LocalHashingPerturber
from rumor_client.perturbation.randomness import Randomness, system_randomness
from rumor_simulations.audit.pipeline import CHECKS, audit_pipeline
from rumor_simulations.audit.probe import INSTALLED, run_probe

FAULTS = "tests.harness.pipeline_faults"
ROOT = Path(__file__).parents[3]


def test_installed_client_keeps_every_promise() -> None:
    """Ten days, restarts, a crash, a fork, retries and refusals: no check finds a fault."""
    found = list(audit_pipeline())
    assert [check.promise for check in found] == list(CHECKS)
    assert [check for check in found if check.fault] == []


@pytest.mark.parametrize(
    ("promise", "fault"),
    [
        ("a permanent answer outlives restarts", "Forgetful"),
        ("each report has noise of its own", "SameNoise"),
        ("a fork repeats no noise", "InheritedNoise"),
        ("a crash loses neither debit nor report", "Forgetful"),
        ("a crash loses neither debit nor report", "Undebited"),
        ("a retry sends the same bytes", "Redrawing"),
        ("a retry sends the same bytes", "Forgetful"),
        ("refusals do not depend on values", "OnlyNews"),
        ("refusals do not depend on values", "Undebited"),
        ("values outside the domain are refused undrawn", "Obliging"),
        ("nothing happens without consent", "Presuming"),
    ],
)
def test_fault_is_named(
    promise: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client with one fault breaks the promise that covers it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert CHECKS[promise](tmp_path, f"{FAULTS}:{fault}") is not None


@pytest.mark.parametrize("fault", SOURCE_FAULTS)
def test_source_of_chance_is_looked_at(fault: str, tmp_path: Path) -> None:
    """S-01: fixed bytes of the operating system fix a report, by exact draws, and nothing else."""
    with device_faults.planted(SOURCE_FAULTS[fault]):
        found = [
            CHECKS[promise](tmp_path, INSTALLED)
            for promise in (
                "the operating system's randomness alone decides a report",
                "each draw has its exact probability",
            )
        ]
    assert any(found)


@pytest.mark.parametrize("fault", ["SameNoise", "InheritedNoise", "OwnGenerator"])
def test_client_with_a_generator_of_its_own_is_named(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of clients that brings its own chance breaks the promise too."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    promise = "the operating system's randomness alone decides a report"
    assert CHECKS[promise](tmp_path, f"{FAULTS}:{fault}") is not None


def test_permanent_answer_redrawn_on_each_call_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted fault: a permanent answer that comes from the system's randomness."""
    name = "rumor_client.perturbation.perturb.permanent_randomness"
    monkeypatch.setattr(name, lambda *arguments: system_randomness())
    assert CHECKS["a permanent answer outlives restarts"](tmp_path, INSTALLED) is not None


def test_slots_beyond_the_cap_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a memo that forgets how many values have an answer of their own."""
    name = "rumor_client.state.sqlite_transaction.SqliteTransaction.slots"
    monkeypatch.setattr(name, lambda self, series: ())
    found = CHECKS["values beyond the cap answer from the last slot"](tmp_path, INSTALLED)
    assert found is not None


def test_length_by_value_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a payload as long as its text."""
    perturb = LocalHashingPerturber.perturb

    def as_long(self: LocalHashingPerturber, text: str, cohort: int, live: Randomness) -> bytes:
        return perturb(self, text, cohort, live) + bytes(len(text))

    monkeypatch.setattr(LocalHashingPerturber, "perturb", as_long)
    assert CHECKS["messages have one length"](tmp_path, INSTALLED) is not None


def test_probe_that_fails_says_why(tmp_path: Path) -> None:
    """A probe that can't start its client raises with what went wrong."""
    with pytest.raises(RuntimeError, match="no_such_module"):
        run_probe("crash", tmp_path, "no_such_module:Client")
