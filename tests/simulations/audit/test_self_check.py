"""The audit's short form passes the installed client, and tells planted faults."""

from __future__ import annotations

from tests.harness.mechanism_faults import FINE_FAULTS

from rumor_shared.mechanisms.table import installed_names
from rumor_shared.metric import Metric
from rumor_simulations.audit.client import Client, installed_client
from rumor_simulations.audit.pipeline import Check
from rumor_simulations.audit.self_check import check, check_mechanisms, check_pipeline


def test_installed_client_is_well() -> None:
    """Every mechanism is enumerated and every promise tried: one row each says that all is well."""
    rows = check()
    assert [well for well, _ in rows] == [True, True]
    assert rows[0][1].startswith(f"{len(installed_names())} mechanisms")


def test_planted_fault_is_told() -> None:
    """A client whose probability is rounded is called by its mechanism and claim."""

    def client(metric: Metric) -> Client:
        if metric.mechanism.name == "krr":
            return FINE_FAULTS["p rounded to 8 bits"][1]
        return installed_client(metric)

    rows = list(check_mechanisms(client))
    assert len(rows) == 1
    assert not rows[0][0]
    assert rows[0][1].startswith("krr, one report: ")


def test_broken_promise_is_told() -> None:
    """A promise that is broken has a row of its own, and the kept ones have none then."""
    found = [Check("a retry sends the same bytes", "it does not"), Check("the rest", None)]
    assert list(check_pipeline(found)) == [(False, "a retry sends the same bytes: it does not")]
