"""What an app sees of the client: its names, how light it is, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.harness.devices import ENDPOINT, KRR, NOON, ROOT, device, registry_with

import rumor_client
from rumor_client import Bounds, Client, RecordStatus
from rumor_client.state.report import OVERHEAD_BYTES
from rumor_client.testing import FakeClock, FakeCollector
from rumor_shared.errors import InvalidValue, RegistryError, UnknownMetric

REGISTRY = """
[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark", "system"]
owner = "design@example.org"
purpose = "product improvement"
expires = 2999-12-31
"""


def test_all_is_sorted_complete_and_loadable() -> None:
    """`__all__` is sorted, is what the lazy table holds, and every name loads."""
    assert rumor_client.__all__ == sorted(rumor_client.__all__)
    homes = [name for names in rumor_client._HOMES.values() for name in names]
    assert sorted(homes) == rumor_client.__all__
    for name in rumor_client.__all__:
        assert getattr(rumor_client, name).__name__ == name or name == "Transport"
    assert set(rumor_client.__all__) <= set(dir(rumor_client))


def test_a_name_that_isnt_there_is_an_attribute_error() -> None:
    """The lazy module answers like any other."""
    with pytest.raises(AttributeError, match="no attribute 'Clint'"):
        _ = rumor_client.Clint


def modules_after(statement: str) -> set[str]:
    """Return the modules a fresh interpreter has loaded after a statement."""
    script = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return set(json.loads(done.stdout))


def test_importing_loads_nothing_heavy() -> None:
    """`import rumor_client` loads none of the slow modules, nor a dependency."""
    loaded = modules_after("import rumor_client") - modules_after("pass")
    assert {name.partition(".")[0] for name in loaded} <= {"rumor_client", "__future__"}


def test_importing_the_client_loads_what_it_needs_to_be_made() -> None:
    """The class alone loads neither a registry's arithmetic nor a state, and no dependency."""
    loaded = modules_after("from rumor_client import Client") - modules_after("pass")
    roots = {name.partition(".")[0] for name in loaded}
    assert (
        roots & {"dataclasses", "inspect", "typing", "re", "enum", "decimal", "fractions"} == set()
    )
    assert (
        roots & {"hashlib", "hmac", "json", "pathlib", "sqlite3", "threading", "tomllib"} == set()
    )
    assert roots & {"mmh3", "bitarray", "http", "ssl", "urllib", "email", "logging"} == set()


def test_making_a_client_loads_no_network() -> None:
    """A client that records into a file has loaded neither HTTP, TLS nor logging."""
    script = f"""
import tempfile
from rumor_client import Client
with tempfile.TemporaryDirectory() as folder:
    with Client({REGISTRY!r}.encode(), state=folder + "/state", environ={{}}, policy="") as client:
        client.consent.grant()
        assert client.record("theme", "dark").recorded
"""
    loaded = modules_after(script)
    assert (
        loaded & {"ssl", "http.client", "urllib.request", "asyncio", "numpy", "pydantic"} == set()
    )
    assert loaded & {"fastapi", "requests", "logging", "gzip", "email", "hmac"} == set()


def test_a_registry_is_given_as_path_bytes_or_object(tmp_path: Path) -> None:
    """Each form makes the same client; a wrong one says what is wrong with it."""
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY)
    for given in (path, str(path), REGISTRY.encode()):
        with Client(given, state=tmp_path / "state", policy="", environ={}) as client:
            assert client.registry.metric("theme").revision == 1
    with pytest.raises(RegistryError, match=r"metrics\.theme\.epsilon"):
        Client(REGISTRY.replace("1.0", "-1.0").encode())
    with pytest.raises(FileNotFoundError):
        Client(tmp_path / "missing.toml")


def test_a_value_the_metric_cant_take_is_refused_before_anything_is_spent() -> None:
    """A mistake raises, spends and draws nothing, and its message does not repeat the value."""
    client = device()
    for value in ("SECRET123", "\ud800SECRET123", 7, None, True, b"dark"):
        with pytest.raises(InvalidValue) as caught:
            client.record("theme", value)
        assert "SECRET123" not in str(caught.value)
    assert client.status().spent_life == 0
    with client.state.transaction() as transaction:
        assert transaction.identity() is None


def test_an_unknown_metric_is_a_mistake_with_or_without_consent() -> None:
    """The app learns of a misspelt metric before its owner has agreed to anything."""
    with pytest.raises(UnknownMetric, match="thema"):
        device(granted=False).record("thema", "dark")


def test_an_unknown_value_is_mapped_to_other_before_the_draw() -> None:
    """With `other` declared a value outside the domain is an ordinary report."""
    client = device(registry_with({"theme": {**KRR, "other": "system"}}))
    assert client.record("theme", "solarised").recorded


def test_a_metric_is_recorded_up_to_its_last_day() -> None:
    """Expiry is the last valid UTC day, inclusive."""
    clock = FakeClock()
    registry = registry_with({"theme": {**KRR, "expires": NOON.date()}})
    client = device(registry, clock=clock)
    clock.now = NOON.replace(hour=23, minute=59)
    assert client.record("theme", "dark").recorded
    clock.move(minutes=1)
    assert client.record("theme", "dark").status is RecordStatus.EXPIRED


def test_no_word_of_a_value_is_in_a_repr() -> None:
    """Neither client, result, report nor request shows a payload."""
    collector = FakeCollector()
    client = device(transport=collector)
    result = client.record("theme", "dark")
    client.flush()
    shown = repr([client, result, client.sent(), collector.requests, client.status()])
    assert "payload" not in shown
    assert "dark" not in shown


def test_the_outbox_is_bounded_in_reports() -> None:
    """The oldest goes first, and each drop is counted."""
    client = device(bounds=Bounds(reports=3))
    kept = []
    for _ in range(5):
        client.record("theme", "dark")
        kept.append(client.waiting()[-1].report.id)
    assert [item.report.id for item in client.waiting()] == kept[2:]
    assert client.status().dropped == {"outbox_full": 2}


def test_the_outbox_is_bounded_in_bytes() -> None:
    """A bound in bytes holds over payload and overhead, and one report always fits."""
    each = OVERHEAD_BYTES + 1
    client = device(bounds=Bounds(stored=3 * each + 1))
    for _ in range(5):
        assert client.record("theme", "dark").recorded
    assert client.status().waiting_bytes == 3 * each
    tiny = device(bounds=Bounds(stored=1))
    tiny.record("theme", "dark")
    assert tiny.status().waiting == 1


def test_days_far_off_are_days_too() -> None:
    """The first and last dates there are can be recorded on and flushed."""
    for moment in (NOON.replace(year=1, month=1, day=1), NOON.replace(year=9999, month=12, day=31)):
        clock = FakeClock(moment)
        expires = {"expires": date.max}
        client = device(
            registry_with({"theme": {**KRR, **expires}}),
            clock=clock,
            daily_cap=1,
            transport=FakeCollector(),
        )
        assert client.record("theme", "dark").recorded
        assert not client.record("theme", "dark").recorded
        assert client.flush().accepted == 1


def test_status_shows_what_holds_and_what_is_spent() -> None:
    """Caps are the stricter of the registry's and the app's."""
    clock = FakeClock()
    registry = registry_with({"theme": {**KRR, "daily_epsilon": 8}}, lifetime_epsilon=20)
    client = device(registry, clock=clock, daily_cap=5, lifetime_cap=30)
    client.record("theme", "dark")
    clock.now += timedelta(days=1)
    client.record("theme", "dark")
    status = client.status()
    assert (status.spent_today, status.spent_life) == (1_000_000, 2_000_000)
    assert (status.daily_cap, status.lifetime_cap) == (5_000_000, 20_000_000)
    assert (status.waiting, status.sent, status.dropped, status.stopped) == (2, 0, {}, None)


def test_endpoint_is_checked_when_the_client_is_made() -> None:
    """A wrong address is found before the first report."""
    with pytest.raises(ValueError, match="endpoint"):
        device(endpoint="collector")
    assert device(endpoint=ENDPOINT + "/").flush().delivered == 0
