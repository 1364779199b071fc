"""Devices at play: what they record is the truth, what was acknowledged is counted, faults stop."""

import json
import random
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rumor_shared.registry import parse_registry
from rumor_simulations.demo.device import DeviceFailed, Played, play, play_devices
from rumor_simulations.demo.scenario import browser_scenario

METRICS = ("browser-version", "browser", "operating-system", "dark-mode")
SCENARIO = browser_scenario(30, random.Random(2))


@contextmanager
def collector(verdict: Callable[[int], str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A stand-in that gives the n-th batch's reports `verdict(n)` and keeps the batches.

    The verdict `busy` is none: it answers 503.
    """
    batches: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = zlib.decompress(body, 31)
            batches.append(json.loads(body))
            word = verdict(len(batches))
            results = [{"id": r["id"], "verdict": word} for r in batches[-1]["reports"]]
            answer = json.dumps({"results": results, "server_day": batches[-1]["day"]}).encode()
            self.send_response(503 if word == "busy" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", batches
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is on this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def held() -> dict[str, Counter[str]]:
    """What the devices of the scenario hold, as texts."""
    registry = parse_registry(SCENARIO.registry)
    return {
        name: Counter(registry.metric(name).text_of(a[name]) for a in SCENARIO.devices)
        for name in METRICS
    }


def test_each_device_uploads_one_batch_of_its_own() -> None:
    """Thirty devices upload thirty batches of four metrics, each under its own pseudonym."""
    with collector(lambda n: "accepted") as (url, batches):
        played = play_devices(SCENARIO.registry, url, SCENARIO.devices)
    assert len({batch["pseudonym"] for batch in batches}) == len(batches) == 30
    for batch in batches:
        assert {report["metric"] for report in batch["reports"]} == set(METRICS)
    assert played.devices == 30
    assert played.recorded == held()
    assert played.acknowledged == dict.fromkeys(METRICS, 30)


@pytest.mark.parametrize("name", ["DO_NOT_TRACK", "RUMOR_CONSENT"])
def test_wishes_of_the_person_here_are_not_those_of_devices_played(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A demo plays made-up devices also where the environment forbids tracking this one's owner."""
    monkeypatch.setenv(name, "denied")
    with collector(lambda n: "accepted") as (url, _):
        assert play_devices(SCENARIO.registry, url, SCENARIO.devices[:2]).devices == 2


def test_overloaded_collector_is_asked_again() -> None:
    """What a collector had no time for is sent again, the same bytes, and acknowledged once."""
    with collector(lambda n: "busy" if n == 1 else "duplicate") as (url, batches):
        played = play_devices(SCENARIO.registry, url, SCENARIO.devices[:1])
    first, second = batches
    assert sorted(map(str, first["reports"])) == sorted(map(str, second["reports"]))
    assert played.acknowledged == dict.fromkeys(METRICS, 1)


def test_rejected_report_stops_the_play() -> None:
    """A demo whose reports are rejected says so instead of comparing what is left."""
    with (
        collector(lambda n: "rejected") as (url, _),
        pytest.raises(DeviceFailed, match="0 of a device's 4 reports were acknowledged"),
    ):
        play_devices(SCENARIO.registry, url, SCENARIO.devices[:1])


def test_what_was_played_adds_up() -> None:
    """Counts of two sets of devices add, metric by metric."""
    total = Played(1, {"a": Counter(x=1)}, Counter(a=1))
    total.add(Played(2, {"a": Counter(x=1, y=1), "b": Counter(z=2)}, Counter(a=2, b=2)))
    assert total == Played(3, {"a": Counter(x=2, y=1), "b": Counter(z=2)}, Counter(a=3, b=2))


def test_play_spreads_devices_over_processes() -> None:
    """Every device is played once, whatever the processes, and progress adds up to all of them."""
    heard: list[int] = []
    with collector(lambda n: "accepted") as (url, batches):
        played = play(SCENARIO, url, 2, heard.append)
    assert sum(heard) == played.devices == len(batches) == 30
    assert played.recorded == held()


def test_play_passes_a_failure_on() -> None:
    """A device that fails in another process ends the play with its reason."""
    with (
        collector(lambda n: "rejected") as (url, _),
        pytest.raises(DeviceFailed, match="were acknowledged"),
    ):
        play(SCENARIO, url, 1, lambda done: None)
