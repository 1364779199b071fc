"""What an app developer gets nearly right is said: names, values, arguments, consoles."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.harness.devices import KRR, PURPOSE, ROOT, device, registry_with

from rumor_client import ConfigurationError, UploadStatus
from rumor_client.process import log_once
from rumor_client.testing import FakeCollector, lost, watch
from rumor_shared.errors import InvalidValue, UnknownMetric

OTHER = registry_with({"format": {**KRR, "values": ["pdf", "odt", "other"], "other": "other"}})


@pytest.mark.parametrize(("given", "meant"), [("thema", "theme"), ("Theme", "theme")])
def test_an_unknown_metric_is_told_the_nearest(given: str, meant: str) -> None:
    """A misspelt name gets the one that is meant (D-12)."""
    with pytest.raises(UnknownMetric, match=meant):
        device(granted=False).record(given, "dark")


@pytest.mark.parametrize("value", ["x" * 5000, "\ud800", "outside", 7, None])
def test_a_mistake_shows_before_anyone_has_agreed(value: object) -> None:
    """Over-long text, a lone surrogate, a value outside the domain raise without consent (D-10)."""
    with pytest.raises(InvalidValue):
        device(granted=False).record("theme", value)


def test_values_that_became_other_are_counted(tmp_path: Path) -> None:
    """A "PDF" for "pdf" counts as `other`, and the status of this process says how often; the file
    does not, since it would tell the answer (D-12).
    """
    client = device(OTHER, state=tmp_path / "state")
    for value in ("PDF", "docx", "pdf", "other"):
        assert client.record("format", value).recorded
    assert client.status().became_other == {"format": 2}
    assert "2 values of format are not in its domain" in str(client.status())
    assert device(OTHER, state=tmp_path / "state").status().became_other == {}
    client.close()


def test_assert_recorded_tells_what_was_recorded_instead() -> None:
    """Another value, or another metric, is in the message (D-12)."""
    client = device(registry_with({"theme": KRR, "colour": KRR}))
    with watch(client) as calls:
        client.record("theme", "light")
        client.record("colour", "dark")
    with pytest.raises(AssertionError, match=r"other values: \['light'\].*metrics: \['colour'\]"):
        calls.assert_recorded("theme", "dark")


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_an_interval_that_is_no_time_is_refused(seconds: float) -> None:
    """`upload_interval=0` meant 1,200 requests a second (D-11)."""
    with pytest.raises(ConfigurationError, match="upload_interval"):
        device(background=True, upload_interval=seconds)


def test_the_shortest_interval_is_a_second_between_requests() -> None:
    """Whatever is asked for, a collector hears one request a second at most (D-11)."""
    collector = FakeCollector(verdicts={"theme": "retry"})
    with device(transport=collector, background=True, upload_interval=1e-6) as client:
        client.record("theme", "dark")
        time.sleep(2.5)
        assert len(collector.requests) <= 3


@pytest.mark.parametrize(
    ("endpoint", "warned"),
    [
        ("http://collector.example.org", True),
        ("http://192.0.2.7:8000", True),
        ("https://collector.example.org", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
    ],
)
def test_a_key_that_travels_in_the_open_is_warned_of(
    endpoint: str, warned: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key over http to another machine is one warning, without the key (D-11)."""
    monkeypatch.setattr(log_once, "_warned", set())
    for _ in range(2):
        device(endpoint=endpoint, key="SECRET", transport=lost)
    assert len(caplog.records) == warned
    assert "SECRET" not in caplog.text


def test_the_owner_is_asked_once(tmp_path: Path) -> None:
    """A yes and a no are kept over starts; no answer is asked for again (D-04)."""
    asked: list[bool | None] = []

    def start(name: str, answer: bool | None) -> bool:
        def agrees() -> bool | None:
            asked.append(answer)
            return answer

        client = device(state=tmp_path / name, granted=False)
        holds = client.consent.ask_once(agrees)
        assert holds is client.consent.is_granted(PURPOSE)
        client.close()
        return holds

    assert [start("yes", True) for _ in range(3)] == [True] * 3
    assert [start("no", answer) for answer in (False, True, True)] == [False] * 3
    assert [start("later", answer) for answer in (None, None, True, False)] == [
        False,
        False,
        True,
        True,
    ]
    assert asked == [True, False, None, None, True]


def test_a_denial_is_not_undone_by_the_next_start(tmp_path: Path) -> None:
    """The quick start's lines, run again after a denial, record nothing (D-04)."""
    client = device(state=tmp_path / "state", granted=False)
    assert client.consent.ask_once(lambda: True)
    client.consent.deny()
    client.close()
    again = device(state=tmp_path / "state", granted=False)
    assert not again.consent.ask_once(lambda: True)
    assert again.record("theme", "dark").status == "no_consent"
    again.close()


def test_aflush_is_done_in_time_whatever_the_apps_threads_do() -> None:
    """With every default thread of the loop busy, it returns within its timeout (H3-24)."""
    collector = FakeCollector()

    async def app() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, time.sleep, 3)
        client = device(transport=collector)
        client.record("theme", "dark")
        began = time.monotonic()
        result = await client.aflush(1)
        assert time.monotonic() - began < 2
        assert (result.status, result.accepted) == (UploadStatus.DONE, 1)
        await busy

    asyncio.run(app())


def test_an_aflush_that_is_cancelled_loses_nothing() -> None:
    """Its upload goes on by itself; the report is counted once."""
    collector = FakeCollector()

    def slow(request: object) -> object:
        time.sleep(0.3)
        return collector(request)  # type: ignore[arg-type]

    async def app() -> None:
        client = device(transport=slow)  # type: ignore[arg-type]
        client.record("theme", "dark")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.aflush(), 0.05)
        await asyncio.sleep(0.6)
        assert (len(collector.counted), client.status().waiting) == (1, 0)

    asyncio.run(app())


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_console_that_knows_few_letters_is_written_to(encoding: str, tmp_path: Path) -> None:
    """`python -m rumor_client` prints a purpose in any language, escaped where need be (D-10)."""
    registry = tmp_path / "metrics.toml"
    registry.write_text(
        '[metrics.theme]\nrevision = 1\nmechanism = "krr"\nepsilon = 1.0\nvalues = ["a", "b"]\n'
        'owner = "test"\npurpose = "\u4ea7\u54c1\u6539\u8fdb \u2192"\nexpires = 2999-12-31\n',
        encoding="utf-8",
    )
    words = ["--registry", str(registry), "--state", str(tmp_path / "state")]
    for command in (["consent", "grant"], ["status"], ["view"]):
        done = subprocess.run(
            [sys.executable, "-m", "rumor_client", *words, *command],
            check=False,
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
