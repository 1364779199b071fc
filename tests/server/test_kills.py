"""A real client process, and a collector that is killed or runs out of disk beneath it.

`RUMOR_KILLS` is how often it is killed; each kill takes seconds, so a few are the default.
"""

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.collector import batch, compact, report
from tests.harness.collector_process import Serving

# Whole processes, which take seconds to start.
pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("RUMOR_KILLS", "3"))
REGISTRY = """
[registry]
daily_epsilon = 100000.0
[metrics.colour]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = 100000.0
values = ["red", "green", "blue"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""
# An app with our client: it says when its first batch was taken, then records and uploads without a
# pause until its input says so, then until nothing waits; at last it forgets, when it is told to.
# A flush without a timeout makes one try, so that each try that failed is seen here.
APP = """
import json, sys, threading
from rumor_client import Client
registry, endpoint, state = sys.argv[1:]
client = Client(registry, endpoint, state=state, background=False)
client.consent.grant()
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
recorded = 0
failed = 0
begun = False
while not ended.is_set():
    for _ in range(20):
        recorded += client.record("colour", "red").recorded
    result = client.flush()
    if result.status != "done":
        failed += 1
        ended.wait(0.05)
    elif not begun:
        begun = True
        print("begun", flush=True)
while client.status().waiting:
    client.flush(timeout=5)
status = client.status()
print(json.dumps([recorded, failed, status.sent, sum(status.dropped.values())]), flush=True)
sys.stdin.readline()
print(json.dumps([client.forget().taken_back]), flush=True)
"""


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """A running collector."""
    collector = Serving(tmp_path, REGISTRY)
    collector.start()
    yield collector
    collector.kill()


def counted(serving: Serving) -> int:
    """How many reports count."""
    n: int = serving.request("GET", "/v1/metrics/colour/estimates").json["n"]
    return n


def test_loses_nothing_to_kills(serving: Serving, tmp_path: Path) -> None:
    """Killed again and again under load: acknowledged = recorded = counted, and all of it is
    taken back when the client forgets.
    """
    words = [sys.executable, "-c", APP, str(serving.registry), f"http://127.0.0.1:{serving.port}"]
    moments = random.Random(5)
    with subprocess.Popen(
        [*words, str(tmp_path / "device.sqlite")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as app:
        assert app.stdin is not None
        assert app.stdout is not None
        try:
            assert app.stdout.readline() == "begun\n"
            for _ in range(KILLS):
                time.sleep(moments.uniform(0.05, 0.5))
                serving.kill()
                serving.start()
            app.stdin.write("end\n")
            app.stdin.flush()
            recorded, failed, sent, dropped = json.loads(app.stdout.readline())
            # The collector is away for as long as it takes to start, many tries long.
            assert failed >= KILLS, "the kills must have cut uploads, or this test shows nothing"
            assert dropped == 0
            assert recorded == sent == counted(serving) > 0
            serving.kill()
            serving.start()
            app.stdin.write("forget\n")
            app.stdin.flush()
            assert json.loads(app.stdout.readline()) == [recorded]
            assert counted(serving) == 0
        finally:
            app.kill()


def test_loses_nothing_to_a_full_disk(serving: Serving) -> None:
    """No file may grow: reports are refused with advice, none that was acknowledged is lost, and
    with room again the same bytes are taken.
    """
    assert serving.process is not None
    bodies = [compact(batch(*[report("colour") for _ in range(50)])) for _ in range(40)]
    pid, acknowledged = serving.process.pid, 0
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    wal = serving.database.with_name(serving.database.name + "-wal")
    refused = []
    today = time.strftime("%Y-%m-%d", time.gmtime())
    bodies = [body.replace(b"2026-11-30", today.encode()) for body in bodies]
    for i, body in enumerate(bodies):
        if i == 10:
            full = max(wal.stat().st_size, serving.database.stat().st_size) + 20_000
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (full, hard))
        answer = serving.request("POST", "/v1/reports", body)
        assert answer.status in {200, 503, 507}, answer.body
        if answer.status == 200:
            assert {one["verdict"] for one in answer.json["results"]} == {"accepted"}
            acknowledged += 50
        else:
            refused.append(body)
    assert refused, "the disk must have been full, or this test shows nothing"
    assert counted(serving) == acknowledged
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    for body in refused:
        answer = serving.request("POST", "/v1/reports", body)
        assert {one["verdict"] for one in answer.json["results"]} == {"accepted"}
    assert counted(serving) == 50 * len(bodies)
    serving.kill()
    serving.start()
    assert counted(serving) == 50 * len(bodies)
