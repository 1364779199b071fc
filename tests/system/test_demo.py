"""`rumor demo` as its users run it: one program, one JSON object, a collector that ends with it."""

import http.client
import json
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.harness.collector_process import RUMOR

# Whole processes, which take seconds to start.
pytestmark = pytest.mark.slow

DEVICES = 2000
MECHANISMS = {
    "browser-version": ("rappor", 1000),
    "browser": ("oue", 23),
    "operating-system": ("krr", 7),
    "dark-mode": ("binary", 2),
}
# The demo's noise has no seed. Over the 32 rows of closed domains a distance of 6.5 standard
# errors comes up by chance with probability 2.6e-9.
FAR = 6.5


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A run of the demo with few devices, its folder kept."""
    folder = tmp_path_factory.mktemp("demo")
    words = [str(RUMOR), "demo", "--json", "--devices", str(DEVICES), "--seed", "5"]
    words += ["--keep", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    log = folder / "collector.log"
    assert done.returncode == 0, done.stderr + (log.read_text("utf-8") if log.exists() else "")
    assert (folder / "rumor.sqlite3").stat().st_size
    return done


@pytest.fixture(scope="module")
def document(demo: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What the demo printed on standard output, which must be one object and nothing else."""
    assert demo.stdout.count("\n") == 1
    parsed: dict[str, Any] = json.loads(demo.stdout)
    return parsed


def test_json_has_the_promised_form(document: dict[str, Any]) -> None:
    """Every field is there, no other is, and each metric has a row for each of its values."""
    assert list(document) == ["url", "devices", "seconds", "metrics"]
    assert document["devices"] == DEVICES
    assert document["seconds"] > 0
    found = {m["name"]: (m["mechanism"], len(m["rows"])) for m in document["metrics"]}
    assert found == MECHANISMS
    for metric in document["metrics"]:
        assert list(metric) == ["name", "mechanism", "epsilon", "reports", "rows"]
        assert metric["reports"] == DEVICES
        assert metric["epsilon"] > 0
        for row in metric["rows"]:
            assert list(row) == ["value", "truth", "estimate", "std_error", "low", "high"]


def test_truth_is_what_the_devices_hold(document: dict[str, Any]) -> None:
    """Truths are shares of the devices that played: multiples of one device that sum to 1."""
    for metric in document["metrics"]:
        devices = [row["truth"] * DEVICES for row in metric["rows"]]
        assert devices == pytest.approx([round(count) for count in devices])
        assert sum(devices) == pytest.approx(DEVICES)


def test_estimates_are_near_the_truth(document: dict[str, Any]) -> None:
    """In every closed domain each estimate is within 6.5 standard errors, inside its interval."""
    for metric in document["metrics"]:
        for row in metric["rows"]:
            assert row["low"] <= row["high"]
            assert row["std_error"] >= 0
            if metric["mechanism"] != "rappor":
                assert abs(row["estimate"] - row["truth"]) < FAR * row["std_error"], row["value"]


def test_commonest_string_is_found(document: dict[str, Any]) -> None:
    """Even few devices show the commonest browser version, the first among 1,000 candidates."""
    (rappor,) = (m for m in document["metrics"] if m["mechanism"] == "rappor")
    commonest = max(rappor["rows"], key=lambda row: row["truth"])
    assert max(rappor["rows"], key=lambda row: row["estimate"]) == commonest
    assert abs(commonest["estimate"] - commonest["truth"]) < FAR * commonest["std_error"]


def test_says_the_rest_on_standard_error(demo: subprocess.CompletedProcess[str]) -> None:
    """Progress goes to standard error, and nothing there looks like a fault."""
    assert "devices" in demo.stderr
    assert "Traceback" not in demo.stderr
    assert "fault" not in demo.stderr


def test_collector_ends_with_the_demo(document: dict[str, Any]) -> None:
    """Without --serve nobody listens any more when the demo is over."""
    where = urlsplit(document["url"])
    with pytest.raises(ConnectionRefusedError):
        healthy(where.hostname, where.port)


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_serve_keeps_the_collector_until_told(ending: signal.Signals, code: int) -> None:
    """With --serve the collector answers after the demo, and ends with it on Ctrl-C or SIGTERM."""
    words = [str(RUMOR), "demo", "--json", "--devices", "20", "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        where = urlsplit(json.loads(demo.stdout.readline())["url"])
        assert healthy(where.hostname, where.port)
        while b"until Ctrl-C" not in demo.stderr.readline():
            pass
        demo.send_signal(ending)
        assert demo.wait(30) == code
    with pytest.raises(ConnectionRefusedError):
        healthy(where.hostname, where.port)


def healthy(host: str | None, port: int | None) -> bool:
    """Whether a collector there says that it is well. Raises ConnectionRefusedError."""
    connection = http.client.HTTPConnection(str(host), port, timeout=30)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    finally:
        connection.close()


@pytest.mark.parametrize("words", [["--devices", "0"], ["--keep", "earlier"]])
def test_refuses_what_it_could_not_answer_for(tmp_path: Path, words: list[str]) -> None:
    """No devices, or a folder with the reports of an earlier demo, is a wrong call: exit code 2."""
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "rumor.sqlite3").touch()
    done = subprocess.run(
        [str(RUMOR), "demo", *words], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert words[0] in done.stderr
    assert not done.stdout
    assert [path.name for path in tmp_path.rglob("*")] == ["earlier", "rumor.sqlite3"]
