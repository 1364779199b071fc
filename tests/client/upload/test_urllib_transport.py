"""The real transport against a real server on this machine."""

from __future__ import annotations

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import device
from tests.harness.http_server import serving, write

from rumor_client import ConfigurationError, NoAnswer, Request, Response, UploadStatus
from rumor_client.testing import FakeCollector
from rumor_client.upload import urllib_transport as network
from rumor_client.upload.transport import check_endpoint


def post(url: str, timeout: float = 5) -> Response:
    """Send a small request."""
    return network.send(Request("POST", url, {"Content-Type": "text/plain"}, b"hello", timeout))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's proxies out of the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "")


def test_reports_arrive_over_http(tmp_path: Path) -> None:
    """A device with a file, a key and the real transport delivers; the base URL keeps its path."""
    collector = FakeCollector()

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        headers = {"Content-Encoding": request.headers.get("Content-Encoding", "")}
        plain = Request("POST", request.url, headers | dict(request.headers), request.body, 0)
        write(handler, collector(plain))

    with serving(respond) as url:
        client = device(endpoint=f"{url}/base/", state=tmp_path / "state", key="k")
        for _ in range(40):
            client.record("theme", "dark")
        assert client.flush().accepted == 40
        client.close()
    (request,) = collector.requests
    assert request.url == "/base/v1/reports"
    assert request.headers["Authorization"] == "Bearer k"
    assert request.headers["Connection"] == "close"


@pytest.mark.parametrize("status", [200, 204, 400, 404, 500, 503])
def test_every_status_is_an_answer(status: int) -> None:
    """An error is a response with status, headers in lower case and body."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        body = b"" if status == 204 else request.body
        write(handler, Response(status, {"Retry-After": "7"}, body))

    with serving(respond) as url:
        response = post(url)
    assert (response.status, response.headers["retry-after"]) == (status, "7")
    assert response.body == (b"" if status == 204 else b"hello")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    """A redirect is an answer; nothing goes to the place it names."""
    visited: list[str] = []

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        visited.append(request.url)
        write(handler, Response(status, {"Location": "/elsewhere"}, b""))

    with serving(respond) as url:
        assert post(url + "/here").status == status
        client = device(endpoint=url)
        client.record("theme", "dark")
        assert client.flush().status is UploadStatus.LATER
    assert visited == ["/here", "/v1/reports"]


def test_no_server_is_no_answer() -> None:
    """A refused connection raises NoAnswer, which names neither address nor data."""
    with serving(lambda handler, request: None) as url:
        pass
    with pytest.raises(NoAnswer, match="ConnectionRefusedError") as caught:
        post(url)
    assert "127.0.0.1" not in str(caught.value)


def test_a_silent_server_is_no_answer() -> None:
    """A server that says nothing is given up at the timeout."""
    release = threading.Event()
    with serving(lambda handler, request: release.wait(5)) as url:
        started = time.monotonic()
        with pytest.raises(NoAnswer, match="Timeout"):
            post(url, timeout=0.2)
        assert time.monotonic() - started < 2
        release.set()


def test_a_dripping_server_is_given_up() -> None:
    """A server that sends a byte at a time can't hold the device beyond the timeout."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(40):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return
            time.sleep(0.05)

    with serving(respond) as url:
        started = time.monotonic()
        with pytest.raises(NoAnswer, match="too long"):
            post(url, timeout=0.3)
        assert time.monotonic() - started < 1.5


def test_an_endless_answer_is_given_up() -> None:
    """An answer is read up to a bound."""
    body = b"x" * (network.MAX_ANSWER_BYTES + 1)
    with (
        serving(lambda handler, request: write(handler, Response(200, {}, body))) as url,
        pytest.raises(NoAnswer, match="too long"),
    ):
        post(url)


def test_a_broken_answer_is_no_answer() -> None:
    """What is not HTTP raises NoAnswer."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        handler.wfile.write(b"220 smtp ready\r\n")

    with serving(respond) as url, pytest.raises(NoAnswer, match="BadStatusLine"):
        post(url)


def test_a_proxy_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a proxy set, the request goes there, with the whole address."""
    seen: list[str] = []

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        seen.append(request.url)
        write(handler, Response(200, {}, b""))

    with serving(respond) as url:
        monkeypatch.setenv("http_proxy", url)
        assert post("http://collector.invalid/v1/reports").status == 200
    assert seen == ["http://collector.invalid/v1/reports"]


def test_proxies_are_read_anew_and_openers_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same settings give the same opener; a change of the environment counts at once."""
    plain = network._opener()
    assert network._opener() is plain
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    assert network._opener() is not plain


def test_a_slow_look_up_of_a_name_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that doesn't answer holds the device no longer than the timeout."""
    release = threading.Event()

    def wait(*_: object, **__: object) -> list[object]:
        release.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    started = time.monotonic()
    with pytest.raises(NoAnswer, match="TimeoutError"):
        post("http://collector.invalid/", timeout=0.2)
    assert time.monotonic() - started < 2
    release.set()


def test_a_name_is_looked_up_and_each_address_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several addresses the first that answers is taken; a name without one is no answer."""
    found = [(0, 0, 0, "", (host, 0)) for host in ("127.0.0.2", "127.0.0.1")]
    resolve, real = socket.getaddrinfo, socket.create_connection

    def look_up(host: str, *rest: Any, **more: Any) -> Any:
        return found if host == "collector.invalid" else resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    tried: list[str] = []

    def connect(address: tuple[str, int], *rest: Any) -> Any:
        tried.append(address[0])
        if address[0] == "127.0.0.2":
            raise ConnectionRefusedError
        return real(address, *rest)

    with serving(lambda handler, request: write(handler, Response(200, {}, b""))) as url:
        monkeypatch.setattr(socket, "create_connection", connect)
        port = url.rpartition(":")[2]
        assert post(f"http://collector.invalid:{port}/").status == 200
    assert tried == ["127.0.0.2", "127.0.0.1"]

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NoAnswer, match="gaierror"):
        post("http://collector.invalid/")


def test_tls_is_verified() -> None:
    """Certificates and host names are checked."""
    context = network._tls()
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "collector.example.org",
        "ftp://a.b",
        "file:///etc/passwd",
        "https://",
        "http://a:b",
        "https://u:p@a.b",
        "https://a.b?x",
        "https://a.b#x",
    ],
)
def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    """The error names the argument and the form."""
    with pytest.raises(ConfigurationError, match="endpoint"):
        check_endpoint(endpoint)


@pytest.mark.parametrize("key", ["", "two words", "a\r\nX-Evil: 1", "schlüssel"])
def test_a_key_that_could_end_the_header_is_refused(key: str) -> None:
    """The error names the argument and does not repeat the key."""
    with pytest.raises(ConfigurationError, match="key: is not a bearer token"):
        device(key=key)


def test_the_answer_of_a_stranger_is_not_parsed(tmp_path: Path) -> None:
    """JSON under another type acknowledges nothing."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        body = json.dumps({"results": [], "server_day": "2026-11-30"}).encode()
        write(handler, Response(200, {"Content-Type": "text/plain"}, body))

    with serving(respond) as url:
        client = device(endpoint=url)
        client.record("theme", "dark")
        assert client.flush().status is UploadStatus.LATER
