"""The reports of a history: each of a value of its own, and what its device heard of it."""

import random
from dataclasses import dataclass
from datetime import date

from tests.harness.collector import registry

from rumor_server.ingestion.batch import Report

VALUES = 2048
A_DAYS_REPORTS = 4
REGISTRY = registry(
    f"""
    [registry]
    max_age_days = 3
    daily_epsilon = 100.0
    [metrics.own]
    revision = 1
    mechanism = "krr"
    epsilon = 1.0
    daily_epsilon = {A_DAYS_REPORTS}.0
    values = {[f"v{number}" for number in range(VALUES)]}
    owner = "test@example.org"
    purpose = "to test"
    expires = 2999-12-31
    """.replace("'", '"')
)
OWN = REGISTRY.metric("own")


@dataclass
class SentReport:
    """What the devices heard of one report, and may therefore rely on.

    `is_forbidden` outlives a restore, because there is a receipt; the rest is the database's, also
    `is_barred`: taken back before it came.
    """

    device: int
    day: date
    report: Report
    is_possible: bool = False
    is_required: bool = False
    is_withdrawn: bool = False
    is_forbidden: bool = False
    is_barred: bool = False


def report_of(value: int, device: int, day: date, id_: bytes | None = None) -> SentReport:
    """Return the report of a value, under an id of its own unless another is given."""
    payload = value.to_bytes(OWN.mechanism.payload_bytes, "little")
    made = id_ or random.Random(value).randbytes(16)
    return SentReport(device, day, Report(made, "own", 1, 0, payload))
