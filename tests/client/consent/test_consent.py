"""Consent: off by default, the most restrictive source wins, and a denial ends and deletes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.harness.devices import KRR, NOON, PURPOSE, ROOT, device, registry_with

from rumor_client import (
    Choice,
    Client,
    ConfigurationError,
    MemoryState,
    RecordStatus,
    Request,
    Response,
    UploadStatus,
)
from rumor_client.consent.consent import Consent, Effective
from rumor_client.testing import FakeClock, FakeCollector, lost

TODAY = NOON.date()


def consent_of(environ: Mapping[str, str], policy: Path | str, stored: Choice | None) -> Consent:
    """Return the consent of a device with these sources."""
    state = MemoryState()
    if stored is not None:
        with state.transaction() as transaction:
            transaction.choose(PURPOSE, stored.value, TODAY)
    return Consent([PURPOSE], state, FakeClock(), environ=environ, policy=policy)


POLICIES = {
    "denies": 'consent = "denied"',
    "grants": 'consent = "granted"',
    "denies this purpose": f'[purposes]\n"{PURPOSE}" = "denied"',
    "denies another purpose": '[purposes]\nother = "denied"',
    "can't be understood": "consent = perhaps",
}


def precedence() -> list[list[str]]:
    """Return the rows of the table in docs/consent.md."""
    page = (ROOT / "docs" / "consent.md").read_text(encoding="utf-8")
    table = page.partition("<!-- precedence:")[2].partition("\n\n")[2].partition("\n\n")[0]
    rows = table.splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("row", precedence(), ids=" ".join)
def test_precedence(row: list[str], tmp_path: Path) -> None:
    """The table of docs/consent.md, row by row."""
    do_not_track, rumor_consent, policy, stored, choice, source = row
    file = tmp_path / "policy.toml"
    if policy:
        file.write_text(POLICIES[policy])
    given = {"DO_NOT_TRACK": do_not_track, "RUMOR_CONSENT": rumor_consent}
    environ = {name: text for name, text in given.items() if text}
    consent = consent_of(environ, file, Choice(stored) if stored else None)
    found = consent.effective(PURPOSE)
    assert (found.choice, found.source) == (choice, source)
    assert found.as_of == (TODAY if source == "stored" else None)
    assert found.granted is (choice == "granted")


def test_the_table_has_every_combination_that_matters() -> None:
    """Each source is the one that decides in some row, and each grants nothing by itself."""
    rows = precedence()
    assert len(rows) == 21
    assert {row[5] for row in rows} == {
        "DO_NOT_TRACK",
        "RUMOR_CONSENT",
        "policy",
        "stored",
        "default",
    }
    assert {row[3] for row in rows if row[4] == "granted"} == {"granted"}


@pytest.mark.parametrize("variable", ["DO_NOT_TRACK", "RUMOR_CONSENT"])
@pytest.mark.parametrize(
    ("text", "denies"),
    [
        ("", (False, False)),
        (" ", (False, False)),
        ("0", (False, True)),
        ("false", (False, True)),
        ("1", (True, False)),
        ("TRUE", (True, False)),
        ("yes", (True, False)),
        ("granted", (True, False)),
        ("denied", (True, True)),
        ("what?", (True, True)),
    ],
)
def test_the_environment_can_only_deny(variable: str, text: str, denies: tuple[bool, bool]) -> None:
    """What a variable can't mean otherwise denies; no text of it grants."""
    expected = denies[variable == "RUMOR_CONSENT"]
    granted = consent_of({variable: text}, "", Choice.GRANTED).effective(PURPOSE)
    assert granted.granted is not expected
    assert not consent_of({variable: text}, "", None).effective(PURPOSE).granted


@pytest.mark.parametrize(
    ("policy", "denies"),
    [
        ('consent = "granted"', False),
        ('consent = "denied"', True),
        (f'[purposes]\n"{PURPOSE}" = "denied"', True),
        ('[purposes]\nother = "denied"', False),
        ('\ufeffconsent = "granted"', False),
        ('\ufeffconsent = "denied"', True),
        ("\ufeff", True),
        ('consent = "granted"\n[purposes]\nother = "granted"', False),
        ("", True),
        ("consent = ", True),
        ("consent = true", True),
        ("consent = []", True),
        ("allow = true", True),
        ("purposes = 3", True),
        ('[purposes]\nother = "perhaps"', True),
        ("\ud800", True),
    ],
)
def test_a_policy_can_only_deny_and_denies_when_in_doubt(
    policy: str, denies: bool, tmp_path: Path
) -> None:
    """A policy that can't be understood denies; "granted" in it grants nothing."""
    file = tmp_path / "policy.toml"
    file.write_bytes(policy.encode("utf-8", "surrogatepass"))
    assert consent_of({}, file, Choice.GRANTED).effective(PURPOSE).granted is not denies
    assert not consent_of({}, file, None).effective(PURPOSE).granted


def test_a_policy_is_followed_as_it_changes(tmp_path: Path) -> None:
    """A policy that appears suspends at once; one that goes lets a stored grant hold again."""
    file = tmp_path / "policy.toml"
    consent = consent_of({}, file, Choice.GRANTED)
    assert consent.effective(PURPOSE).granted
    file.write_text('consent = "denied"')
    assert not consent.effective(PURPOSE).granted
    file.unlink()
    assert consent.effective(PURPOSE).granted


def test_a_policy_that_cant_be_read_denies(tmp_path: Path) -> None:
    """A folder in the place of the file denies."""
    (tmp_path / "policy.toml").mkdir()
    assert not consent_of({}, tmp_path / "policy.toml", Choice.GRANTED).effective(PURPOSE).granted


def test_nothing_is_recorded_or_spent_without_a_grant() -> None:
    """Off is the default: no report, no spend, no secret."""
    client = device(granted=False)
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    assert client.status().consent == {PURPOSE: Effective(Choice.UNSET, "default")}
    assert (client.status().spent_life, client.status().waiting) == (0, 0)


def test_purposes_are_granted_one_by_one() -> None:
    """A grant for one purpose records nothing for another, nor for one that comes later."""
    metrics = {"theme": {**KRR, "purpose": "design"}, "crash": {**KRR, "purpose": "stability"}}
    client = device(registry_with(metrics), granted=False)
    client.consent.grant("design")
    assert client.record("theme", "dark").recorded
    assert client.record("crash", "dark").status is RecordStatus.NO_CONSENT
    client.consent.grant()
    later = {**metrics, "load": {**KRR, "purpose": "performance"}}
    upgraded = device(registry_with(later), state=client.state, granted=False)
    assert upgraded.record("crash", "dark").recorded
    assert upgraded.record("load", "dark").status is RecordStatus.NO_CONSENT


def test_an_unknown_purpose_is_a_mistake() -> None:
    """Granting or denying what the registry doesn't declare names what it does."""
    client = device()
    with pytest.raises(ConfigurationError, match=PURPOSE):
        client.consent.grant("advertising")
    with pytest.raises(ConfigurationError, match=PURPOSE):
        client.consent.deny("advertising")


def test_denial_of_one_purpose_keeps_what_waits_for_another() -> None:
    """The denied purpose's reports go, the other's are sent, under a new secret."""
    metrics = {"theme": {**KRR, "purpose": "design"}, "crash": {**KRR, "purpose": "stability"}}
    collector = FakeCollector()
    client = device(registry_with(metrics), transport=collector)
    client.record("theme", "dark")
    client.record("crash", "dark")
    client.consent.deny("design")
    assert client.flush().accepted == 1
    assert [report["metric"] for report in collector.counted.values()] == ["crash"]
    assert client.status().dropped == {"denied": 1}


def test_denial_of_all_reaches_purposes_of_earlier_registries() -> None:
    """Denying everything denies what an earlier registry's purpose was granted."""
    metrics = {"theme": {**KRR, "purpose": "design"}}
    client = device(registry_with(metrics))
    device(registry_with(), state=client.state).consent.deny()
    assert client.consent.effective("design").choice is Choice.DENIED


def record_some(client: Client, count: int = 5) -> None:
    """Record some answers."""
    for _ in range(count):
        assert client.record("theme", "dark").recorded


@pytest.mark.parametrize("on_disk", [False, True])
def test_after_a_denial_nothing_that_waited_is_sent(on_disk: bool, tmp_path: Path) -> None:
    """Five reports wait while the collector is down; a denial sends none of them, now or after a
    restart, and recording spends nothing (QU-04).
    """
    collector = FakeCollector([lost])
    state = tmp_path / "state" if on_disk else MemoryState()
    client = device(transport=collector, state=state)
    record_some(client)
    client.flush()
    client.consent.deny()
    assert client.flush().status is UploadStatus.DONE
    spent = client.status().spent_life
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    client.close()
    again = device(transport=collector, state=state, granted=False)
    again.flush()
    assert again.status().spent_life == spent
    # They were on their way once: the collector may have counted them.
    assert again.status().dropped == {"unconfirmed:denied": 5}
    assert len(collector.requests) == 1
    again.close()


def test_a_denial_waits_for_the_request_under_way_and_stops_the_next() -> None:
    """With a request in flight `deny` returns after its end, and no other leaves (QU-04)."""
    sending, go_on = threading.Event(), threading.Event()
    collector = FakeCollector()

    def slow(request: Request) -> Response:
        sending.set()
        go_on.wait(10)
        return collector(request)

    clock = FakeClock()
    client = device(transport=slow, clock=clock)
    record_some(client)
    clock.move(days=1)
    record_some(client)
    upload = threading.Thread(target=client.flush)
    upload.start()
    sending.wait(10)
    denial = threading.Thread(target=client.consent.deny)
    denial.start()
    denial.join(0.1)
    assert denial.is_alive()
    go_on.set()
    denial.join(10)
    upload.join(10)
    assert len(collector.requests) == 1
    assert client.status().waiting == 0


def test_a_suspension_keeps_what_waits(tmp_path: Path) -> None:
    """A denial by policy sends nothing and deletes nothing; when it ends, what waited is sent."""
    policy = tmp_path / "policy.toml"
    collector = FakeCollector()
    client = Client(
        registry_with(),
        "http://collector.invalid",
        state=MemoryState(),
        transport=collector,
        background=False,
        environ={},
        policy=policy,
    )
    client.consent.grant()
    record_some(client)
    policy.write_text('consent = "denied"')
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    withheld = client.flush()
    assert (withheld.status, withheld.waiting) == (UploadStatus.OFF, 5)
    assert collector.requests == []
    policy.unlink()
    assert client.flush().accepted == 5


def test_a_new_grant_remembers_what_was_spent() -> None:
    """Denying and granting again restores no budget."""
    client = device(daily_cap=5)
    record_some(client)
    client.consent.deny()
    client.consent.grant()
    assert client.record("theme", "dark").status is RecordStatus.BUDGET_EXCEEDED
