"""Thousands of random histories of devices, and the faults that such histories must find.

RUMOR_HISTORIES sets how many; CI runs 2000.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.harness.device_history import Histories
from tests.harness.faults import Ticks
from tests.harness.reproductions import DEVICE, play_device

from rumor_client import MemoryState
from rumor_client.consent.consent import Consent
from rumor_client.perturbation.perturb import new_id
from rumor_client.perturbation.randomness import system_randomness
from rumor_client.recording import recorder as recording
from rumor_client.state.report import Report
from rumor_client.upload import retraction as forgetting
from rumor_client.upload import uploader as upload
from rumor_client.upload.encoding import encode_batch

Contents = type(MemoryState().contents)
MANY = int(os.environ.get("RUMOR_HISTORIES", "2000" if os.environ.get("CI") else "300"))
# A history too slow to be healthy is one that forgets; the run as a whole is bounded.
CHECKS = list(HealthCheck)
STEPS = 20


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No history waits, and each can be repeated."""
    Ticks().install(monkeypatch)


# Two thousand histories take a minute of a free core, and several of a shared one.
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_histories() -> None:
    """Whatever happens: nothing lost, nothing twice, no cap passed, no byte of a report changed."""
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=MANY, stateful_step_count=STEPS, suppress_health_check=CHECKS
        ),
    )


Patch = Callable[[pytest.MonkeyPatch], None]


def lose_a_drop(patch: pytest.MonkeyPatch) -> None:
    """Evict without counting."""
    patch.setattr(Contents, "_count_drops", lambda self, reason, reports: None)


def send_with_a_new_id(patch: pytest.MonkeyPatch) -> None:
    """Draw a new id for each try."""
    real = encode_batch

    def new_each_time(day: Any, name: bytes, reports: list[Report], *rest: Any) -> bytes:
        for report in reports:
            object.__setattr__(report, "id", new_id(system_randomness()))
        return real(day, name, reports, *rest)

    patch.setattr(upload, "encode_batch", new_each_time)


def charge_nothing(patch: pytest.MonkeyPatch) -> None:
    """Forget the debit."""
    patch.setattr(Contents, "charge", lambda self, charges: None)


def ignore_the_cap(patch: pytest.MonkeyPatch) -> None:
    """Let a report through that passes the cap."""
    patch.setattr(recording, "refusal", lambda *given: None)


def send_after_denial(patch: pytest.MonkeyPatch) -> None:
    """Keep and send what a denial should have deleted."""
    patch.setattr(Contents, "erase", lambda self, purpose: None)
    patch.setattr(Consent, "is_granted", lambda self, purpose: True)


def forget_without_asking(patch: pytest.MonkeyPatch) -> None:
    """Delete the log without waiting for the collector."""
    patch.setattr(forgetting, "_take_back", lambda *given: "")
    patch.setattr(forgetting, "_retractable", lambda transaction: [])


def forget_what_was_under_way(patch: pytest.MonkeyPatch) -> None:
    """Drop for certain what may have been counted: the fault of the client's first half."""
    real = Contents.withdraw

    def withdraw(self: Any, ids: Any, reason: str) -> int:
        self.refused(ids)
        return real(self, ids, reason)

    patch.setattr(Contents, "withdraw", withdraw)


def count_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Store the debit in a transaction of its own."""
    real = Contents.charge

    def charge(self: Any, charges: Any) -> None:
        real(self, charges)
        self.commit()

    patch.setattr(Contents, "charge", charge)


PLANTED: dict[str, Patch] = {
    "an eviction that no drop told of": lose_a_drop,
    "a batch that was sent under other ids": send_with_a_new_id,
    "a report that no account was charged for": charge_nothing,
    "a report beyond the cap of its day": ignore_the_cap,
    "a report that outlived a denial": send_after_denial,
    "a report that still counts after it was forgotten": forget_without_asking,
    "a drop for certain of what was counted": forget_what_was_under_way,
    "a debit without its report": count_before_the_commit,
}


@pytest.mark.parametrize("name", DEVICE)
def test_keeps_what_once_failed(name: str) -> None:
    """Each history that ever failed keeps every promise now."""
    play_device(DEVICE[name])


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_fails_its_history(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each planted fault breaks an invariant in the history that was kept of it."""
    PLANTED[name](monkeypatch)
    with pytest.raises((AssertionError, ExceptionGroup)):
        play_device(DEVICE[name])


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTED.values())
def test_histories_find_a_planted_fault(plant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each planted fault breaks an invariant within some hundred histories."""
    plant(monkeypatch)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(
            Histories,
            settings=settings(
                max_examples=300,
                stateful_step_count=STEPS,
                suppress_health_check=CHECKS,
                phases=[Phase.generate],
                database=None,
                print_blob=False,
            ),
        )
