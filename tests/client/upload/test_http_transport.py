"""The real transport against a real server on this machine."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import device
from tests.harness.http_server import serving, write

from rumor_client import ConfigurationError, NoAnswer, Request, Response, UploadStatus
from rumor_client.testing import FakeCollector
from rumor_client.upload import connection
from rumor_client.upload import http_transport as network
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
    with pytest.raises(NoAnswer, match="connection refused") as caught:
        post(url)
    assert "127.0.0.1" not in str(caught.value)


def test_a_silent_server_is_no_answer() -> None:
    """A server that says nothing is given up at the timeout."""
    release = threading.Event()
    with serving(lambda handler, request: release.wait(5)) as url:
        started = time.monotonic()
        with pytest.raises(NoAnswer, match="nothing came within"):
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
        with pytest.raises(NoAnswer, match="nothing came within"):
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


def test_proxies_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the environment counts at once."""
    seen: list[str] = []

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        seen.append(request.url)
        write(handler, Response(200, {}, b""))

    with serving(respond) as first, serving(respond) as second:
        for proxy in (first, second, first.removeprefix("http://")):
            monkeypatch.setenv("http_proxy", proxy)
            assert post("http://collector.invalid/x").status == 200
    assert seen == ["http://collector.invalid/x"] * 3


def test_a_proxy_is_told_its_password_and_the_collector_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`user:password@` of the proxy's setting goes into the proxy's own header, decoded."""
    seen: list[Request] = []

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        seen.append(request)
        write(handler, Response(200, {}, b""))

    with serving(respond) as url:
        monkeypatch.setenv("http_proxy", url.replace("//", "//me:p%40ss@"))
        assert post("http://collector.invalid/x").status == 200
    assert seen[0].headers["Proxy-Authorization"] == "Basic bWU6cEBzcw=="
    assert seen[0].headers["Host"] == "collector.invalid"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_collector_on_this_machine_is_behind_no_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a proxy set and no exception for it, the quick start's address goes round it (N-08)."""
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    with serving(lambda handler, request: write(handler, Response(200, {}, b""))) as url:
        assert post(url.replace("127.0.0.1", host)).status == 200


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("http://proxy.invalid:99999", "the proxy that is set for http is no address"),
        ("socks5://127.0.0.1:1", "the proxy that is set for http is not one of HTTP"),
        ("http://127.0.0.1:1", r"connection refused\) by the proxy that is set"),
    ],
)
def test_a_proxy_that_fails_is_named(
    setting: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says that it was the proxy, without its address (N-08)."""
    monkeypatch.setenv("http_proxy", setting)
    with pytest.raises(NoAnswer, match=said):
        post("http://collector.invalid/")


def test_a_tunnel_is_asked_for_over_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy HTTPS goes through CONNECT; a proxy that refuses is named."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked: list[bytes] = []

        def refuse() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(NoAnswer, match="the proxy answered 407 to CONNECT"):
            post("https://collector.invalid/")
        thread.join()
    assert asked[0].startswith(b"CONNECT collector.invalid:443 HTTP/1.1\r\n")


def test_headers_that_drip_are_given_up() -> None:
    """One deadline holds over the whole exchange, the headers too: `flush(1)` took 35 s (D-05)."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        with suppress(OSError):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(100):
                handler.wfile.write(f"X-{number}: y\r\n".encode())
                time.sleep(0.05)

    with serving(respond) as url:
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"nothing came within 0\.3 s"):
            post(url, timeout=0.3)
        assert time.monotonic() - began < 1.5
        client = device(endpoint=url)
        client.record("theme", "dark")
        began = time.monotonic()
        assert client.flush(timeout=0.5).status is UploadStatus.LATER
        assert time.monotonic() - began < 2


def test_an_answer_that_comes_before_the_end_of_the_body_is_read() -> None:
    """A server that answers 413 with the body unread, and closes, has answered (N-10)."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=refuse)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        body = b"x" * (8 << 20)
        assert network.send(Request("POST", url, {}, body, 5)).status == 413
        thread.join()


@pytest.mark.parametrize("value", ["/nonexistent/keys.log", "/proc/1/keys.log"])
def test_a_key_log_that_cant_be_written_stops_no_plain_http(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS is set up for TLS alone; where it can't be, the variable is named (N-07)."""
    monkeypatch.setenv("SSLKEYLOGFILE", value)
    connection.tls.cache_clear()
    with serving(lambda handler, request: write(handler, Response(200, {}, b""))) as url:
        assert post(url).status == 200
        with pytest.raises(NoAnswer, match=r"TLS can't be set up .*; look at SSLKEYLOGFILE"):
            post(url.replace("http:", "https:"))
    connection.tls.cache_clear()


def test_a_certificate_that_is_refused_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without a known certificate is refused; the variable that may be why is named."""
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(junk))
    connection.tls.cache_clear()
    certificate = tmp_path / "own.pem"
    done = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"),
            *("-keyout", str(certificate), "-out", str(tmp_path / "out.pem")),
        ],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("there is no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "out.pem", certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def shake_hands() -> None:
            accepted, _ = server.accept()
            with suppress(OSError), context.wrap_socket(accepted, server_side=True):
                pass

        thread = threading.Thread(target=shake_hands)
        thread.start()
        with pytest.raises(NoAnswer, match=r"certificate was refused \(.*look at SSL_CERT_FILE"):
            post(f"https://localhost:{server.getsockname()[1]}/")
        thread.join()
    connection.tls.cache_clear()


def test_a_slow_look_up_of_a_name_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that doesn't answer holds the device no longer than the timeout."""
    release = threading.Event()

    def wait(*_: object, **__: object) -> list[object]:
        release.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    started = time.monotonic()
    with pytest.raises(NoAnswer, match="nothing came within"):
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
    with pytest.raises(NoAnswer, match="the name of the collector has no address"):
        post("http://collector.invalid/")


def test_tls_is_verified() -> None:
    """Certificates and host names are checked."""
    context = connection.tls()
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
        "http://a..b",
        "http://.a.b",
        f"http://{'a' * 64}.b",
        "http://*:8000",
        "http://a_b|c",
        "http://a.b:0",
        "http://a.b:65536",
        "http://[::1",
        "http://[1:2]",
        "https://a.b/v1/reports",
        "https://a.b/v1/reports/",
        "https://a.b/base/v1/retractions",
    ],
)
def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    """The error names the argument and the form (N-06, D-12)."""
    with pytest.raises(ConfigurationError, match="endpoint"):
        check_endpoint(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ("https://a.b\n", "a line break at its end"),
        ("https://a.b ", "a blank at its end"),
        (" https://a.b", "a blank at its beginning"),
        ("https://a b", "a blank at position 9"),
        ("https://a.b\tc", "a tab at position 11"),
        ("https://a.b/\x00", "a control character at its end"),
        ("https://a.b/caf\u00e9", "'\u00e9', which is not ASCII, at its end"),
        ("https://b\u00fccher.example", "'\u00fc', which is not ASCII, at position 9"),
    ],
)
def test_a_character_that_no_address_has_is_named(endpoint: str, said: str) -> None:
    """What a secret's file or a copied line brings along is said when the client is made (N-06)."""
    with pytest.raises(ConfigurationError) as caught:
        check_endpoint(endpoint)
    assert f"holds {said};" in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://a.b",
        "https://a.b.:8443/base/",
        "http://localhost:8000",
        "http://rumor_collector:8000",
        "http://[::1]:8000",
        "http://127.0.0.1",
        "https://xn--bcher-kva.example",
        "https://a.b/%C3%A9",
    ],
)
def test_an_address_is_taken(endpoint: str) -> None:
    """What can be reached is no error, and stays as it is but for a slash at its end."""
    assert check_endpoint(endpoint) == endpoint.rstrip("/")


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
