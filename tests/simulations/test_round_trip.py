"""What a device encodes the collector decodes: every mechanism, both ends as they are shipped."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness, permanent_randomness
from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric, tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.table import BUILT_IN
from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of

VALUES = ["näme", "two", "3", "four words of text", "fünf", "absent"]
HAVE = [900, 500, 300, 200, 100, 0]
SHARES = np.array(HAVE) / sum(HAVE)
# P[a normal error beyond 6 sigmas] is 2e-9; the seed is fixed.
SIGMAS = 6

CLOSED: dict[str, Any] = {"epsilon": 2, "values": VALUES}
OPEN: dict[str, Any] = {"epsilon": 2, "cohorts": 32}
RAPPOR: dict[str, Any] = {"epsilon_infinity": 6, "epsilon_first_report": 3}
CASES: list[tuple[str, Mapping[str, Any]]] = [
    ("krr", CLOSED),
    ("sue", CLOSED),
    ("oue", CLOSED),
    ("subset", CLOSED),
    ("subset", {"epsilon": 4, "values": [*VALUES, *(f"v{i}" for i in range(400))]}),
    ("hadamard", CLOSED),
    ("pgr", CLOSED),
    ("pgr", {"epsilon": 2, "values": [*VALUES, *(f"v{i}" for i in range(400))]}),
    ("pgr", {"epsilon": 2, "values": VALUES, "field": 2}),
    ("local_hashing", {**CLOSED, "cohorts": 32}),
    ("local_hashing", OPEN),
    ("local_hashing", {**CLOSED, "cohorts": 16, "hash_range": 300}),
    ("cms", {**CLOSED, "cohorts": 32, "columns": 20}),
    ("cms", {**OPEN, "columns": 20}),
    ("hcms", {**CLOSED, "cohorts": 32, "columns": 16}),
    ("hcms", {**OPEN, "columns": 256}),
    ("basic_rappor", {**RAPPOR, "values": VALUES}),
    ("basic_rappor", {"f": 0, "p": 0.25, "q": 0.75, "values": VALUES}),
    ("rappor", {**RAPPOR, "bits": 24, "cohorts": 8}),
    ("rappor", {"f": 0, "p": 0.25, "q": 0.75, "bits": 24, "cohorts": 8}),
]


def metric_of(mechanism: str, fields: Mapping[str, Any]) -> Metric:
    """A metric of this mechanism."""
    table = {"revision": 1, "owner": "o", "purpose": "p", "expires": date(2099, 12, 31)}
    return registry_of({"metrics": {"m": {**table, "mechanism": mechanism, **fields}}}).metric("m")


def reported(metric: Metric, texts: list[str], seed: int) -> Tally:
    """The tally of one report a device, each made by the client and checked on arrival."""
    live = Randomness(random.Random(seed).randbytes)
    cohorts: list[list[bytes]] = [[] for _ in range(metric.mechanism.cohorts)]
    for device, text in enumerate(texts):
        cohort = live.below(len(cohorts)) if len(cohorts) > 1 else 0
        if metric.mechanism.memoised:
            secret = device.to_bytes(32, "little")
            own = permanent_randomness(secret, metric.name, 1, cohort, text.encode())
            client = memoised_perturber(metric)
            payload = client.instantaneous(client.permanent(text, cohort, own), live)
        else:
            payload = perturber(metric).perturb(text, cohort, live)
        metric.mechanism.check_payload(payload)
        cohorts[cohort].append(payload)
    counts = np.array([tally_of(metric, payloads) for payloads in cohorts])
    return Tally(np.array([len(payloads) for payloads in cohorts]), counts)


def estimated(metric: Metric, tally: Tally) -> Estimates:
    """Estimates of the six values, which are looked for where the domain is open."""
    return estimate_metric(metric, tally, None if metric.mechanism.values else VALUES)


def worst(estimates: Estimates) -> float:
    """The largest error of the six values in standard errors."""
    errors = np.abs(estimates.frequency[:6] - SHARES) / estimates.std_error[:6]
    return float(errors.max())


def population() -> list[str]:
    """Two thousand devices, in the order of their values."""
    return [value for value, have in zip(VALUES, HAVE, strict=True) for _ in range(have)]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "fields"), CASES)
def test_reports_come_back_as_the_truth(mechanism: str, fields: Mapping[str, Any]) -> None:
    """Shares estimated from what the client sent are within 6 standard errors of the truth."""
    metric = metric_of(mechanism, fields)
    assert worst(estimated(metric, reported(metric, population(), 1))) < SIGMAS


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "fields"), CASES)
def test_another_order_of_values_is_seen(mechanism: str, fields: Mapping[str, Any]) -> None:
    """Planted fault: had the ends another idea of which value is which, errors would show it."""
    metric = metric_of(mechanism, fields)
    swapped = [VALUES[-1] if text == VALUES[0] else text for text in population()]
    assert worst(estimated(metric, reported(metric, swapped, 2))) > SIGMAS


def test_binary_comes_back_as_the_truth() -> None:
    """Two values take the same way."""
    metric = metric_of("binary", {"epsilon": 1})
    no, yes = metric.mechanism.values or ()
    made = estimate_metric(metric, reported(metric, [no] * 500 + [yes] * 1500, 3))
    assert abs(made.frequency[1] - 0.75) < SIGMAS * made.std_error[1]


def test_every_mechanism_goes_round() -> None:
    """A mechanism that is added is added here."""
    assert {"binary", *(mechanism for mechanism, _ in CASES)} == set(BUILT_IN)
