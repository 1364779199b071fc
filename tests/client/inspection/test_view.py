"""What the owner sees: odds in plain words, and every report as bytes, bits and meaning."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from tests.harness.devices import KRR, RAPPOR, device, registry_with

from rumor_client import Report
from rumor_client.inspection.status import odds
from rumor_client.inspection.view import meaning
from rumor_client.testing import FakeCollector, lost

ABC = ["a", "b", "c"]


def said(payload: str, **fields: Any) -> str:
    """Return the meaning of a payload, given in hexadecimal, for a metric of these fields."""
    registry = registry_with({"metric": {**fields, "daily_epsilon": 1000}})
    raw = bytes.fromhex(payload)
    registry.metric("metric").mechanism.check_payload(raw)
    return meaning(registry, Report(bytes(16), date(2026, 11, 30), "metric", 1, 0, raw, "any"))


@pytest.mark.parametrize(
    ("payload", "fields", "expected"),
    [
        ("01", {"mechanism": "binary", "epsilon": 1}, "'true', one of 2 values"),
        ("02", {"mechanism": "krr", "epsilon": 1, "values": ABC}, "'c', one of 3 values"),
        ("05", {"mechanism": "oue", "epsilon": 1, "values": ABC}, "bits 0 (a), 2 (c) of 3 set"),
        ("00", {"mechanism": "sue", "epsilon": 1, "values": ABC}, "no bit of 3 set"),
        ("00000200" + "00" * 12, {**RAPPOR, "bits": 128}, "bit 17 of 128 set"),
        ("01000080", RAPPOR, "bits 0, 31 of 32 set"),
        (
            "02",
            {"mechanism": "basic_rappor", "f": 0.5, "p": 0.25, "q": 0.75, "values": ABC},
            "bit 1 (b) of 3 set",
        ),
        ("03", {"mechanism": "subset", "epsilon": 0.1, "values": [*"abcd"]}, "bits 0 (a), 1 (b)"),
        (
            "2d",
            {"mechanism": "subset", "epsilon": 6, "values": [f"v{i}" for i in range(50)]},
            "the set of 'v45', 1 of 50 values",
        ),
        ("03", {"mechanism": "local_hashing", "epsilon": 1.5}, "cell 3 of 5"),
        ("0400", {"mechanism": "cms", "epsilon": 1, "columns": 9}, "bit 2 of 9 set"),
        ("05", {"mechanism": "hcms", "epsilon": 1, "columns": 8}, "row 2 of 8 with sign -"),
        ("03", {"mechanism": "hadamard", "epsilon": 1, "values": ABC}, "column 3 of 4"),
        ("02", {"mechanism": "pgr", "epsilon": 1, "values": ABC, "field": 2}, "point 2 of 3"),
    ],
)
def test_a_payload_is_put_in_words(payload: str, fields: dict[str, Any], expected: str) -> None:
    """Each mechanism says what its payload says, with bits counted as on the wire."""
    assert said(payload, **fields).startswith(expected)


def test_what_the_registry_no_longer_describes_is_shown_all_the_same() -> None:
    """A report of another revision or of a metric that is gone has bytes and no meaning."""
    client = device()
    client.record("theme", "dark")
    for changed in ({"theme": {**KRR, "revision": 2}}, {"other": KRR}):
        later = device(registry_with(changed), state=client.state)
        (seen,) = later.view()
        assert seen.meaning == "something that this registry no longer describes"
        assert seen.report.payload.hex() in str(seen)


def test_every_report_is_seen_with_its_state() -> None:
    """Waiting, accepted, rejected and unconfirmed reports are all in the view, bit 0 first."""
    metrics = dict.fromkeys(("theme", "gone"), KRR)
    collector = FakeCollector(verdicts={"gone": "rejected:too_late"})
    client = device(registry_with(metrics, daily_epsilon=100), transport=collector)
    client.record("theme", "dark")
    client.record("gone", "dark")
    client.flush()
    collector.script = [lost]
    client.record("theme", "dark")
    client.flush()
    client.consent.deny()
    client.consent.grant()
    client.record("theme", "dark")
    states = sorted(seen.state for seen in client.view())
    assert states == [
        "accepted",
        "rejected (too_late)",
        "unconfirmed (denied)",
        "waiting",
    ]
    for seen in client.view():
        assert int(seen.bits[::-1], 2) == seen.report.payload[0]
        assert "payload" not in repr(seen)


@pytest.mark.parametrize(
    ("micro", "factor"), [(0, "1"), (1, "1.01"), (693_147, "2.00"), (1_000_000, "2.72")]
)
def test_odds_are_rounded_up(micro: int, factor: str) -> None:
    """The factor is never smaller than e to the epsilon."""
    assert odds(micro) == factor


def test_the_status_says_what_the_figure_means_and_what_it_doesnt_cover() -> None:
    """Budget in plain words, with the limits of the claim, and drops by reason."""
    collector = FakeCollector([lost])
    client = device(transport=collector, daily_cap=5)
    client.record("theme", "dark")
    client.flush()
    client.consent.deny()
    text = str(client.status())
    assert "consent        product improvement: denied (from stored, since 2026-11-30)" in text
    assert (
        "spent today    epsilon 1 (cap 5): whichever of two histories you had, repeating in the"
        " same places, an observer's odds change by at most a factor of 2.72" in text
    )
    assert "Not covered: that" in text
    assert "1 reports: unconfirmed, denied" in text
