"""The audit passes the installed client, and fails every fault that is planted in it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness import device_faults
from tests.harness.device_faults import FEW_COHORTS, LAW_FAULTS
from tests.harness.mechanism_faults import (
    FAULTS,
    FINE_FAULTS,
    ShapeByValue,
    TruthTooRarely,
    planted,
)

from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_simulations.audit.certificate import Certificate, certify
from rumor_simulations.audit.loss import measure_loss
from rumor_simulations.audit.mechanism_audit import Finding, audit_metric
from rumor_simulations.audit.plan import standard_metric, standard_metrics

# Planted faults double a loss or more, which this many devices show at a false-alarm rate of 1e-6.
TRIALS = 4000

RAPPOR = {"bits": 5, "hashes": 2, "cohorts": 1}
# Domains that are small enough to enumerate, and show the fault.
SMALLER: dict[str, dict[str, Any]] = {
    "excluded value may be drawn again": {"values": [f"v{i}" for i in range(5)]},
    # Large enough that two indices are shorter than a bit mask.
    "truth always in slot 0 of the set": {"values": [f"v{i}" for i in range(20)]},
    "set Bloom bits never cleared": RAPPOR,
    "hash count ignored": RAPPOR,
}


# Spread over two bits of a filter, this loss shows late: a run of TRIALS was seen to miss it.
HARD_FAULTS = {"hash count ignored"}
HARD_TRIALS = 10 * TRIALS


def metric_for(mechanism: str, fault: str = "") -> Metric:
    """Return a metric at epsilon 1, or 2 where the fault needs it, small enough to enumerate."""
    epsilon = "2" if fault == "truth always in slot 0 of the set" else "1"
    return standard_metric(mechanism, epsilon, **SMALLER.get(fault, {}))


def certificate_of(finding: Finding) -> Certificate:
    """Return the certificate of a finding that has one."""
    assert isinstance(finding.certificate, Certificate)
    return finding.certificate


def test_every_installed_mechanism_is_certified_and_tight() -> None:
    """Enumeration proves that each mechanism's law is the declared one, and costs exactly so."""
    for metric in standard_metrics(("1",)):
        assert isinstance(metric, Metric), metric
        for finding in audit_metric(metric, 0):
            assert finding.fault is None, finding
            assert certificate_of(finding).tight, finding
            assert certificate_of(finding).deviation == 0


@pytest.mark.parametrize("mechanism", ["krr", "local_hashing", "subset", "basic_rappor"])
def test_attack_agrees_with_the_declaration(mechanism: str) -> None:
    """The bounds hold what is declared, but for a false-alarm rate of 1e-6, and come near it."""
    for finding in audit_metric(standard_metric(mechanism, "1"), TRIALS):
        assert finding.fault is None, finding
        assert finding.tightness is not None
        assert finding.tightness > 0.7
        assert finding.high is not None
        assert finding.high > 0.9 * finding.declared


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_attack_catches(fault: str) -> None:
    """The attack alone, blind to the code, calls each of these clients a fault."""
    mechanism, faulty = FAULTS[fault]
    trials = HARD_TRIALS if fault in HARD_FAULTS else TRIALS
    with planted(mechanism, faulty):
        found = audit_metric(metric_for(mechanism, fault), trials)
    assert any(f.low is not None and f.low > 1.05 * f.declared for f in found), found
    assert any(f.fault for f in found), found


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() | FINE_FAULTS.keys()))
def test_enumeration_catches(fault: str) -> None:
    """The exact law convicts each of these clients with certainty."""
    mechanism, faulty = (FAULTS | FINE_FAULTS)[fault]
    with planted(mechanism, faulty):
        found = audit_metric(metric_for(mechanism, fault), 0)
    assert any(f.fault for f in found), found


def test_length_by_value_is_caught() -> None:
    """A payload whose length tells truth from lie is a fault, whichever way one looks."""
    with planted("hadamard", ShapeByValue):
        (sampled,) = audit_metric(metric_for("hadamard"), TRIALS)
        (enumerated,) = audit_metric(metric_for("hadamard"), 0)
    assert sampled.fault is not None
    assert enumerated.fault is not None


@pytest.mark.slow
@pytest.mark.parametrize("fault", LAW_FAULTS)
def test_enumeration_follows_record_to_its_end(fault: str) -> None:
    """S-01: what leaves the device is enumerated as a whole: cohort, id, payload, silence."""
    mechanism, plant = LAW_FAULTS[fault]
    metric = standard_metric(mechanism, "1", **FEW_COHORTS.get(mechanism, {}))
    with device_faults.planted(plant):
        found = audit_metric(metric, 0)
    assert any(f.fault for f in found), found


@pytest.mark.slow
def test_attack_catches_a_cohort_that_tells_the_value() -> None:
    """S-01: the attack alone sees it too, blind to the code and to the exact law."""
    metric = standard_metric("local_hashing", "1", cohorts=8)
    with device_faults.planted(LAW_FAULTS["cohort says two bits of the value's checksum"][1]):
        (found,) = audit_metric(metric, TRIALS)
    assert found.low is not None
    assert found.low > 1.5 * found.declared


def test_truth_told_too_rarely_is_no_declared_law() -> None:
    """S-07: a client that is more private than it says bends every estimate, and is called so."""
    with planted("krr", FINE_FAULTS["truth told .003 too rarely"][1]):
        (found,) = audit_metric(standard_metric("krr", "1"), 0)
    assert found.fault is not None
    assert "not the declared one" in found.fault
    assert "0.003" in found.fault
    assert certificate_of(found).epsilon is not None
    assert not certificate_of(found).breached


def test_attack_catches_a_truth_told_too_rarely() -> None:
    """S-07, sampled: 40,000 devices show a rate that is off by .06; false alarms, 1e-6."""
    metric = standard_metric("krr", "1")
    honest = measure_loss(metric, ("v0", "v3"), HARD_TRIALS)
    assert not any(rate.wrong(1e-6) for rate in honest.supports)
    with planted("krr", Rarely):
        faulty = measure_loss(metric, ("v0", "v3"), HARD_TRIALS)
    assert all(rate.wrong(1e-6) for rate in faulty.supports)
    assert faulty.low(1e-6) < 1


class Rarely(TruthTooRarely):
    """Twenty times as rarely."""

    def keep(self) -> int:
        """Take .06 away."""
        return self.mechanism.keep - ONE * 6 // 100


@pytest.mark.parametrize("mechanism", ["sue", "basic_rappor", "rappor", "cms", "subset"])
def test_wide_domain_is_certified_scaled_down(mechanism: str) -> None:
    """A vector of hundreds of bits is judged by few bits of the same code and probabilities."""
    wide: dict[str, dict[str, Any]] = {
        "rappor": {"bits": 256, "cohorts": 64},
        "cms": {"columns": 256},
    }
    fields = wide.get(mechanism, {"values": [f"v{i}" for i in range(256)]})
    metric = standard_metric(mechanism, "1", **fields)
    certificates = certify(metric)
    assert not isinstance(certificates, str)
    for certificate in certificates:
        assert certificate.scaled
        assert certificate.tight
        assert certificate.deviation == 0
