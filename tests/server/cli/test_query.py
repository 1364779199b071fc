"""`rumor query`: what it asks, what it prints, and that it says what is wrong in one line."""

import io
import json
import sys
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rumor_server.cli import query

ROW = {
    "value": "dark",
    "estimate": 131.7,
    "frequency": 0.2633,
    "std_error": 0.0617,
    "low": 0.144,
    "high": 0.39,
    "significant": True,
    "n": 500,
    "epsilon": 1.0,
    "mechanism": "krr",
    "revision": 1,
}
RARE = {**ROW, "value": "[bold]ünder\u2603", "frequency": -0.01, "significant": False}
PAGE: dict[str, Any] = {
    "metric": "theme",
    "question": "Which theme is set?",
    "status": "ok",
    "n": 500,
    "min_reports": 1,
    "missing": 0,
    "first_day": "2026-11-01",
    "last_day": "2026-11-30",
    "alpha": 0.05,
    "unexplained": None,
    "rows": [RARE, ROW],
}


class Collector(ThreadingHTTPServer):
    """Answers everything with `status` and `answer`, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.answer: Any = PAGE
        self.asked: list[tuple[str, str, str | None, bytes]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers["Authorization"]
        self.server.asked.append((self.command, self.path, key, body))
        answer = self.server.answer
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.headers["Accept"])
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A stand-in for a collector; no proxy and no variable of the caller's leads elsewhere."""
    for name in ("RUMOR_URL", "RUMOR_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_prints_each_value_with_its_error(
    collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commonest value comes first, in percent, with error, interval and mark."""
    assert query.main(["theme", "--url", collector.url]) == 0
    out = capsys.readouterr().out
    (dark,) = (line for line in out.splitlines() if "dark" in line)
    assert dark.split() == ["dark", "26.33", "6.17", "14.40", "to", "39.00", "*"]
    assert out.index("dark") < out.index("ünder")
    assert "[bold]" in out
    assert "500 reports from 2026-11-01 to 2026-11-30" in out
    assert "95% interval" in out
    assert out.splitlines()[-1] == "* present beyond chance at 0.05, all values considered"


@pytest.mark.parametrize("rows", [[RARE], [ROW, {**RARE, "significant": True}]])
def test_explains_the_mark_where_it_stands(
    collector: Collector, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]]
) -> None:
    """The mark is explained below the table if a row that is shown has it, else not."""
    collector.answer = {**PAGE, "rows": rows}
    assert query.main(["theme", "--url", collector.url, "--top", "1"]) == 0
    assert ("* present" in capsys.readouterr().out) is (rows[0] is ROW)


def test_asks_what_was_said(collector: Collector) -> None:
    """Days, revision, level and key reach the collector, and a name's slash does no harm."""
    words = ["a/b", "--from", "2026-11-01", "--to", "2026-11-02", "--revision", "2"]
    words += ["--alpha", "0.01", "--key", "secret", "--url", f"{collector.url}/"]
    assert query.main(words) == 0
    ((method, path, key, body),) = collector.asked
    assert method == "GET"
    assert path.startswith("/v1/metrics/a%2Fb/estimates?")
    assert path.endswith("from=2026-11-01&to=2026-11-02&revision=2&alpha=0.01")
    assert key == "Bearer secret"
    assert body == b""


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["--days", "7"], "estimates?from=2026-11-24&to=2026-11-30"),
        (["--days", "1"], "estimates?from=2026-11-30&to=2026-11-30"),
        (["--compare", "previous", "--days", "7"], "comparison?from=2026-11-24&to=2026-11-30"),
        (
            ["--compare", "2026-10-01..2026-10-07", "--from", "2026-11-01"],
            "comparison?from=2026-11-01&compare_from=2026-10-01&compare_to=2026-10-07",
        ),
        (["--trend"], "trend?"),
    ],
)
def test_asks_for_periods(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, words: list[str], path: str
) -> None:
    """A-05: the last days, another period, a trend; whole as CSV and JSON."""
    monkeypatch.setattr(query, "system_day", lambda: date(2026, 11, 30))
    for form in ("--json", "--csv"):
        assert query.main(["theme", *words, form, "--url", collector.url]) == 0
        assert collector.asked[-1][1] == f"/v1/metrics/theme/{path}"


@pytest.mark.parametrize(
    "words",
    [
        ["--days", "7", "--from", "2026-11-01"],
        ["--days", "0"],
        ["--compare", "yesterday"],
        ["--json", "--csv"],
        ["--trend", "--compare", "previous"],
    ],
)
def test_refuses_what_contradicts_itself(collector: Collector, words: list[str]) -> None:
    """Two ways to say one thing are refused before anything is asked."""
    assert query.main(["theme", *words, "--url", collector.url]) != 0
    assert collector.asked == []


def test_prints_csv_as_it_comes(collector: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    """--csv is the collector's table, with the line ends of the system."""
    collector.answer = b"value,frequency\r\ndark,0.5\r\n"
    assert query.main(["theme", "--csv", "--url", collector.url]) == 0
    assert capsys.readouterr().out == "value,frequency\ndark,0.5\n"


def test_says_that_nothing_is_shown(
    collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """A-05: where no value is beyond chance, that is the headline."""
    collector.answer = {**PAGE, "rows": [RARE]}
    assert query.main(["theme", "--url", collector.url]) == 0
    assert "no value is present beyond chance" in capsys.readouterr().out


def test_sends_candidates(collector: Collector, tmp_path: Path) -> None:
    """Candidates go as the body, each once, without empty lines."""
    file = tmp_path / "candidates.txt"
    file.write_text("one\n\ntwo\none\n", "utf-8")
    assert query.main(["page", "--candidates", str(file), "--url", collector.url]) == 0
    ((method, _, _, body),) = collector.asked
    assert method == "POST"
    assert json.loads(body) == {"candidates": ["one", "two"]}


def test_json_is_the_answer(collector: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints what the collector said, as one line of ASCII."""
    assert query.main(["theme", "--json", "--url", collector.url]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out) == PAGE


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "withheld", "missing": 40, "min_reports": 100, "n": 60}, "40 reports"),
        ({"status": "no_data", "n": 0}, "no report"),
        ({"rows": []}, "--candidates"),
        ({"unexplained": 0.25, "unexplained_std_error": 0.031}, "25.00%, give or take 3.10"),
    ],
)
def test_says_what_there_is_to_say(
    collector: Collector,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    said: str,
) -> None:
    """Withheld, no data, an open domain and what is not explained are told in words."""
    collector.answer = {**PAGE, **changes}
    assert query.main(["theme", "--url", collector.url]) == 0
    assert said in capsys.readouterr().out


def test_top_shows_the_commonest(collector: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    """--top 1 shows one value."""
    assert query.main(["theme", "--top", "1", "--url", collector.url]) == 0
    assert "ünder" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (404, {"detail": "no such metric"}, "404: no such metric"),
        (403, b"<html>", "403: no reason is given"),
        (200, b"<html>", "no collector"),
        (200, [], "no collector"),
        (200, {"status": "ok"}, "no collector"),
    ],
)
def test_refusals_are_one_line(
    collector: Collector,
    capsys: pytest.CaptureFixture[str],
    status: int,
    answer: Any,
    said: str,
) -> None:
    """A refusal, and whatever is no collector, exits 1 with one line on standard error."""
    collector.status, collector.answer = status, answer
    assert query.main(["theme", "--url", collector.url]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert said in captured.err


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "file:///etc/hostname", "http://[", "x"])
def test_nobody_there_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An address where nobody answers, or that is none, exits 1 with one line."""
    assert query.main(["theme", "--url", url]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_prints_in_a_console_without_the_signs(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A console that is not UTF-8 gets escapes instead of a traceback."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert query.main(["theme", "--url", collector.url]) == 0
    sys.stdout.flush()
    assert b"\\u2603" in raw.getvalue()
