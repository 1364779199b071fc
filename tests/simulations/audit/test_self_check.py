"""The audit's short form passes the installed client, and tells planted faults."""

from __future__ import annotations

import pytest
from tests.harness import device_faults
from tests.harness.device_faults import FEW_COHORTS, LAW_FAULTS, SOURCE_FAULTS
from tests.harness.mechanism_faults import FINE_FAULTS, planted

from rumor_shared.mechanisms.table import installed_names
from rumor_simulations.audit.pipeline import Check, audit_pipeline
from rumor_simulations.audit.plan import standard_metric
from rumor_simulations.audit.self_check import check, check_mechanisms, check_pipeline


def test_installed_client_is_well() -> None:
    """Every mechanism is enumerated and every promise tried: one row each says that all is well."""
    rows = check()
    assert [well for well, _ in rows] == [True, True]
    assert rows[0][1].startswith(f"{len(installed_names())} mechanisms")


@pytest.mark.parametrize("fault", ["p rounded to 8 bits", "truth told .003 too rarely"])
def test_planted_fault_is_told(fault: str) -> None:
    """A client whose probability is not the declared one is called by its mechanism and claim."""
    with planted(*FINE_FAULTS[fault]):
        rows = list(check_mechanisms())
    assert len(rows) == 1
    assert not rows[0][0]
    assert rows[0][1].startswith("krr, one report: ")


@pytest.mark.parametrize("fault", LAW_FAULTS)
def test_doctor_tells_a_law_that_is_not_declared(fault: str) -> None:
    """S-01: what the doctor enumerates ends where reports leave: cohorts, ids, silence too."""
    mechanism, plant = LAW_FAULTS[fault]
    metric = standard_metric(mechanism, "1", **FEW_COHORTS.get(mechanism, {}))
    with device_faults.planted(plant):
        rows = list(check_mechanisms(metrics=[metric]))
    assert not any(well for well, _ in rows)
    assert all(what.startswith(f"{mechanism}, ") for _, what in rows)


@pytest.mark.slow
@pytest.mark.parametrize("fault", SOURCE_FAULTS)
def test_doctor_tells_another_source_of_chance(fault: str) -> None:
    """S-01: what the doctor tries of the pipeline sees where chance comes from."""
    with device_faults.planted(SOURCE_FAULTS[fault]):
        assert not all(well for well, _ in check_pipeline(audit_pipeline()))


def test_broken_promise_is_told() -> None:
    """A promise that is broken has a row of its own, and the kept ones have none then."""
    found = [Check("a retry sends the same bytes", "it does not"), Check("the rest", None)]
    assert list(check_pipeline(found)) == [(False, "a retry sends the same bytes: it does not")]
