"""The sample nginx.conf before a collector, for real: adapted in nothing but where things are."""

import gzip
import http.client
import os
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from tests.harness.collector import REGISTRY, base64, batch, compact, report
from tests.harness.collector_process import DAY, Answer, Serving

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx.conf"
LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")
# Loopback has many addresses: the one that devices have here is nobody else's.
DEVICE = "127.0.0.9"
START_SECONDS = 60
PSEUDONYM = b"\xa5" * 16
SENTINEL = "SECRET123"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("nginx") and shutil.which("openssl")) and not os.environ.get("CI"),
        reason="nginx or openssl is not installed",
    ),
]


class Proxy:
    """nginx with the sample configuration, before one collector."""

    def __init__(self, folder: Path, collector: Serving, path: str = "") -> None:
        self.collector = collector
        self._path = path
        self.log = folder / "nginx.log"
        self._folder = folder
        self._trust = ssl.create_default_context(cafile=self._certificate())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        (folder / "nginx.conf").write_text(self._adapted(), "utf-8")

    def _certificate(self) -> str:
        words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        words += " -addext subjectAltName=DNS:localhost -keyout privkey.pem -out fullchain.pem"
        subprocess.run(words.split(), check=True, capture_output=True, cwd=self._folder, timeout=60)
        return str(self._folder / "fullchain.pem")

    def _adapted(self) -> str:
        """Return the sample with paths and ports of this test; each must be found once."""
        text = CONFIGURATION.read_text("utf-8")
        temporary = "".join(
            f"    {kind}_temp_path {self._folder / kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        for old, new in {
            "/run/nginx.pid": f"{self._folder}/nginx.pid",
            "server collector:8000;": f"server 127.0.0.1:{self.collector.port};",
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "/etc/nginx/tls/fullchain.pem": f"{self._folder}/fullchain.pem",
            "/etc/nginx/tls/privkey.pem": f"{self._folder}/privkey.pem",
            "http {\n": "http {\n" + temporary,
            "location / {": f"location {self._path}/ {{",
            "proxy_pass http://collectors;": "proxy_pass http://collectors"
            + ("/;" if self._path else ";"),
        }.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run nginx; what it writes to standard output and error is in `log`."""
        nginx = shutil.which("nginx")
        assert nginx is not None
        words = [nginx, "-p", str(self._folder), "-c", str(self._folder / "nginx.conf")]
        # Its workers must get at this test's folder; what goes wrong before the configuration is
        # read would go to nginx's own log.
        user = " user root;" if os.geteuid() == 0 else ""
        words += ["-e", "stderr", "-g", f"daemon off;{user}"]
        with self.log.open("ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            until = time.monotonic() + START_SECONDS
            while not self._listens():
                assert process.poll() is None, self.log.read_text("utf-8", "replace")
                assert time.monotonic() < until
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(START_SECONDS)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request over TLS from the address of a device."""
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=60, context=self._trust, source_address=(DEVICE, 0)
        )
        with closing(connection):
            given = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, body, given)
            return Answer(connection.getresponse())

    def send(self, body: bytes, **headers: str) -> list[str]:
        """Send a batch that must be answered with 200; return the verdicts."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.request("POST", "/v1/reports", body, given)
        assert answer.status == 200, answer.body
        return [one["reason"] or one["verdict"] for one in answer.json["results"]]

    def check_logs(self) -> None:
        """Neither nginx nor the collector has written who called, or what was sent."""
        written = self.log.read_text("utf-8", "replace")
        lines = written.splitlines()
        assert lines
        form = re.compile(r"\d{4}-\d\d-\d\d [A-Z]+ /\S* \d{3} \d+\.\d{3}")
        assert [line for line in lines if not form.fullmatch(line)] == []
        for log in (written, self.collector.log.read_text("utf-8")):
            for secret in (DEVICE, SENTINEL, base64(PSEUDONYM), "1.2.3."):
                assert secret not in log


@contextmanager
def proxied(folder: Path, path: str = "", **settings: Any) -> Iterator[Proxy]:
    """Run a collector at the most talkative log level, and the proxy before it, under a path."""
    given = {"log_level": "debug", **settings}
    collector = Serving(folder, LASTING, settings=given)
    proxy = Proxy(folder, collector, path)
    collector.start()
    try:
        with proxy.serving():
            yield proxy
    finally:
        collector.kill()


def today() -> date:
    """The day of the collector."""
    return DAY


def sent(*reports: dict[str, Any]) -> bytes:
    """The bytes of a batch of today under a pseudonym that is looked for in logs."""
    return compact(batch(*reports, day=today(), pseudonym=PSEUDONYM))


def test_passes_on_what_devices_and_readers_send(tmp_path: Path) -> None:
    """Reports, gzip, retractions, estimates and the dashboard come through; sizes are judged by the
    collector up to a MiB and beyond by either; /metrics is for nobody outside; no log says who.
    """
    with proxied(tmp_path) as proxy:
        body = sent(report(), report())
        assert proxy.send(body) == ["accepted"] * 2
        assert proxy.send(gzip.compress(body), Content_Encoding="gzip") == ["duplicate"] * 2
        document = batch(report(), day=today())
        assert proxy.send(compact(document)) == ["accepted"]
        document["retractions"] = document.pop("reports")
        answer = proxy.request("POST", "/v1/retractions", compact(document))
        assert answer.json["results"][0]["verdict"] == "retracted"
        answer = proxy.request("GET", f"/v1/metrics/theme/estimates?candidate={SENTINEL}")
        assert answer.status in {200, 400}
        assert proxy.request("GET", "/v1/metrics/theme/estimates").json["n"] == 2
        assert proxy.request("GET", "/").type == "text/html"
        assert proxy.request("GET", "/metrics").status == 404
        # Larger than a batch may be: heard from the collector, as JSON. Larger still: from nginx.
        for size, kind in ((1 << 20, "application/problem+json"), (10 << 20, "text/html")):
            answer = proxy.request("POST", "/v1/reports", b"[" + b" " * size)
            assert (answer.status, answer.type) == (413, kind)
        inflated = gzip.compress(bytes(5 << 20))
        answer = proxy.request("POST", "/v1/reports", inflated, {"Content-Encoding": "gzip"})
        assert (answer.status, answer.type) == (413, "application/problem+json")
        many = b'{"candidates": ["a"' + b" " * (7 << 20) + b"]}"
        assert proxy.request("POST", "/v1/metrics/page/estimates", many).status == 200
        for bad, status in ((b"{", 400), (SENTINEL.encode(), 400)):
            assert proxy.request("POST", "/v1/reports", bad).status == status
        answer = proxy.request("POST", "/v1/reports", body, {"Content-Type": "text/plain"})
        assert answer.status == 415
        assert answer.headers["Strict-Transport-Security"]
        assert answer.headers["Retry-After"] is None
        proxy.check_logs()


def test_passes_no_invented_address_on(tmp_path: Path) -> None:
    """A caller that makes up a forwarded address each time is still one caller to the collector,
    whose 429 comes through with its Retry-After. The collector believes the proxy, which says none.
    """
    allowed = 5
    settings: dict[str, Any] = {"address_requests": allowed, "trusted_proxies": "127.0.0.1"}
    with proxied(tmp_path, **settings) as proxy:
        answers = [
            proxy.request("POST", "/v1/reports", sent(report()), invented(number))
            # A minute may end under way, and then as many are allowed once more.
            for number in range(2 * allowed + 2)
        ]
        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        for answer in refused:
            assert answer.type == "application/problem+json"
            (wait,) = retry_after(answer)
            assert 1 <= wait <= 60
        # From an address that is trusted, another forwarded address is another caller; from one
        # that is not, it is nothing.
        numbers = range(100, 102 + 2 * allowed)
        trusted = [direct(proxy.collector, "127.0.0.1", number) for number in numbers]
        assert set(trusted) == {200}
        assert 429 in [direct(proxy.collector, DEVICE, number) for number in numbers]
        proxy.check_logs()


def invented(number: int) -> dict[str, str]:
    """Headers that tell another address for each number."""
    address = f"1.2.3.{number}"
    return {"X-Forwarded-For": address, "X-Real-IP": address, "Forwarded": f"for={address}"}


def retry_after(answer: Answer) -> list[int]:
    """The seconds of each Retry-After in an answer."""
    return [int(one) for one in answer.headers.get_all("Retry-After") or ()]


def direct(collector: Serving, address: str, number: int) -> int:
    """Send a report to the collector itself, from an address; return the status."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", collector.port, timeout=30, source_address=(address, 0)
    )
    with closing(connection):
        headers = {"Content-Type": "application/json", **invented(number)}
        connection.request("POST", "/v1/reports", sent(report()), headers)
        return connection.getresponse().status


def test_limits_callers_and_says_how_long(tmp_path: Path) -> None:
    """Beyond the burst nginx answers 429 itself, with one Retry-After, and the device keeps what it
    has; a full collector's 503 comes through with its own.
    """
    with proxied(tmp_path, open_requests=1, busy_seconds=60) as proxy, ThreadPoolExecutor(1) as one:
        # A report that waits for the database takes the collector's only place.
        with closing(sqlite3.connect(proxy.collector.database)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            waiting = one.submit(proxy.request, "POST", "/v1/reports", sent(report()))
            until = time.monotonic() + START_SECONDS
            while (answer := proxy.request("GET", "/v1/registry")).status == 200:
                assert time.monotonic() < until
                time.sleep(0.3)
            holder.rollback()
        assert waiting.result().status == 200
        assert (answer.status, answer.type) == (503, "application/problem+json")
        assert len(retry_after(answer)) == 1
        with ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda _: proxy.request("GET", "/v1/registry"), range(200)))
        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        assert [retry_after(answer) for answer in refused] == [[10]] * len(refused)
        proxy.check_logs()


def test_works_under_a_path(tmp_path: Path) -> None:
    """N-16: under a path of the proxy's every link, style and form of the pages leads there."""
    with proxied(tmp_path, path="/rumor", root_path="/rumor") as proxy:
        assert proxy.request("POST", "/rumor/v1/reports", sent(report())).status == 200
        html = {"Accept": "text/html"}
        seen: set[str] = set()
        for page in ("/rumor/", "/rumor/metric/theme", "/rumor/metric/page", "/rumor/docs"):
            answer = proxy.request("GET", page, headers=html)
            assert answer.status == 200, page
            found = re.findall(r'(?:href|src|action)="([^"#]+)"', answer.body.decode())
            seen |= {urljoin(page, unescape(one)).partition("?")[0] for one in found}
        local = {one for one in seen if one.startswith("/")}
        assert {"/rumor/", "/rumor/metric/theme", "/rumor/openapi.json"} <= local
        for path in local:
            if not path.endswith("/candidates"):
                time.sleep(0.2)
                assert proxy.request("GET", path, headers=html).status == 200, path
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        kept = proxy.request("POST", "/rumor/metric/page/candidates", "texts=a", form)
        assert kept.status == 303
        assert str(kept.headers["location"]).startswith("/rumor/metric/page?")


def test_answers_for_collectors_that_are_gone(tmp_path: Path) -> None:
    """While no collector runs the proxy answers 502, nothing else, and writes nobody's address."""
    with proxied(tmp_path) as proxy:
        proxy.collector.kill()
        assert proxy.request("POST", "/v1/reports", sent(report())).status == 502
        proxy.collector.start()
        until = time.monotonic() + START_SECONDS
        while (answer := proxy.request("POST", "/v1/reports", sent(report()))).status != 200:
            assert time.monotonic() < until, answer.status
            time.sleep(0.5)
        proxy.check_logs()
