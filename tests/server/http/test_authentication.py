"""The door: who gets in, who is limited, and what every answer tells a browser."""

import asyncio
import base64
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import pytest
from tests.harness.collector import JSON, TODAY, Collector, batch, collector, compact, report

from rumor_server.access import Scope, open_scopes, parse_proxies
from rumor_server.app import Collector as App
from rumor_server.errors import SettingsError, StoreUnavailable, TooManyRequests
from rumor_server.http.authentication import wanted_scope
from rumor_server.http.ip_rate_limit import IpRateLimit, caller
from rumor_server.http.security_headers import HEADERS, VERDICT_HEADERS
from rumor_server.operations.keyring import create_key, revoke_key
from rumor_server.settings import Settings
from rumor_server.storage.keys import list_keys
from rumor_server.storage.operator_tables import Control

KEYED: dict[str, Any] = {
    "ingest_access": "key",
    "read_access": "key",
    "metrics_access": "key",
    "refresh_seconds": 0.1,
}


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Collector]:
    """A collector that wants a key for everything."""
    with collector(tmp_path / "rumor.sqlite3", **KEYED) as started:
        yield started


@pytest.fixture
def control(closed: Collector, tmp_path: Path) -> Iterator[Control]:
    """The operator's tables of that collector, as another process has them."""
    opened = Control(Settings(database=tmp_path / "rumor.sqlite3"))
    yield opened
    opened.close()


def bearer(key: str) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {key}"}


def post(running: Collector, headers: dict[str, str], reports: int = 1) -> Any:
    """Send reports of a fresh device."""
    body = compact(batch(*[report() for _ in range(reports)]))
    return running.client.post("/v1/reports", content=body, headers=JSON | headers)


ROUTES = [
    ("POST", "/v1/reports", Scope.INGEST),
    ("POST", "/v1/retractions", Scope.INGEST),
    ("GET", "/v1/metrics", Scope.ANALYST),
    ("GET", "/v1/metrics/theme/estimates", Scope.ANALYST),
    ("GET", "/", Scope.ANALYST),
    ("GET", "/metrics", Scope.ADMIN),
    ("GET", "/no-such-route", Scope.ANALYST),
]


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_lets_in_the_right_scope_alone(
    closed: Collector, control: Control, method: str, path: str, scope: Scope
) -> None:
    """Without a key 401, with another scope 403, with the right one an answer of the route."""
    nobody = closed.client.request(method, path)
    assert nobody.status_code == 401
    assert "Bearer" in nobody.headers["www-authenticate"]
    assert nobody.headers["content-type"] == "application/problem+json"
    keys = {given: create_key(control, given.value, given, TODAY) for given in Scope}
    for given, key in keys.items():
        answer = closed.client.request(method, path, headers=bearer(key))
        if given.allows(scope):
            assert answer.status_code not in {401, 403}
        else:
            assert answer.status_code == 403


def test_wants_a_scope_for_every_route(closed: Collector) -> None:
    """Every route that isn't public on purpose wants a scope, documented or not."""
    app = cast(App, closed.client.app)
    paths = {getattr(route, "path", "") for route in app.routes} | set(app.openapi()["paths"])
    public = {path for path in paths if wanted_scope(path) is None}
    assert public == {"/healthz", "/readyz", "/version", "/docs", "/openapi.json", "/v1/registry"}
    for path in public:
        assert closed.client.get(path).status_code == 200


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer x", "Basic !", "Basic " + base64.b64encode(b"a:b").decode(), "x y z"],
)
def test_refuses_what_is_no_key(closed: Collector, header: str) -> None:
    """Anything but a key is 401 and never a fault."""
    for path in ("/v1/metrics", "/metrics"):
        answer = closed.client.get(path, headers={"Authorization": header})
        assert answer.status_code == 401


def test_lets_a_browser_ask_for_the_key(closed: Collector, control: Control) -> None:
    """A browser's password prompt carries a key for pages, and not for reports."""
    analyst = create_key(control, "analyst", Scope.ANALYST, TODAY)
    ingest = create_key(control, "ingest", Scope.INGEST, TODAY)
    assert closed.client.get("/v1/metrics", auth=("anyone", analyst)).status_code == 200
    basic = {"Authorization": "Basic " + base64.b64encode(f":{ingest}".encode()).decode()}
    assert post(closed, basic).status_code == 401


def test_refuses_an_expired_and_a_revoked_key(closed: Collector, control: Control) -> None:
    """A key ends with its last day, and a few moments after it is revoked, on every process."""
    short = create_key(control, "short", Scope.INGEST, TODAY, expires=TODAY)
    other = create_key(control, "other", Scope.INGEST, TODAY)
    assert post(closed, bearer(short)).status_code == 200
    closed.today = TODAY + timedelta(days=1)
    assert post(closed, bearer(short)).status_code == 401
    assert post(closed, bearer(other)).status_code == 200
    revoke_key(control, "other", closed.today)
    closed.client.portal.call(_later)  # type: ignore[union-attr]
    assert post(closed, bearer(other)).status_code == 401


async def _later() -> None:
    await asyncio.sleep(0.2)


def test_keeps_the_day_a_key_was_used(tmp_path: Path) -> None:
    """Once the collector has stopped, its keys carry the day of their last use."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, **KEYED) as running:
        control = Control(Settings(database=database))
        assert post(running, bearer(create_key(control, "a", Scope.INGEST, TODAY))).is_success
        create_key(control, "b", Scope.INGEST, TODAY)
    assert [key.last_used for key in list_keys(control)] == [TODAY, None]
    control.close()


def test_fails_closed_without_its_keys(
    closed: Collector, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CO-02: where the keys can't be read, whoever needs one is answered 503."""
    key = create_key(control, "app", Scope.INGEST, TODAY)

    def unreadable(_: Control) -> None:
        raise StoreUnavailable("x")

    monkeypatch.setattr("rumor_server.operations.keyring.list_keys", unreadable)
    answer = post(closed, bearer(key))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_limits_the_reports_of_a_key(closed: Collector, control: Control) -> None:
    """SV-07: a thousand made-up devices with one key count no more than the key may send a day."""
    key = create_key(control, "app", Scope.INGEST, TODAY, day_reports=10)
    statuses = [post(closed, bearer(key), 3).status_code for _ in range(5)]
    assert statuses == [200] * 3 + [429] * 2
    last = post(closed, bearer(key), 1)
    assert last.status_code == 200
    refused = post(closed, bearer(key), 1)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")
    assert closed.tally()[0] == [10]
    closed.today = TODAY + timedelta(days=1)
    body = compact(batch(report(), day=closed.today))
    answer = closed.client.post("/v1/reports", content=body, headers=JSON | bearer(key))
    assert answer.status_code == 200


def test_charges_a_key_for_accepted_reports_alone(closed: Collector, control: Control) -> None:
    """A duplicate and a refused report cost a key nothing, once they are decided."""
    key = create_key(control, "app", Scope.INGEST, TODAY, day_reports=6)
    body = compact(batch(report(), report(), report(revision=9)))
    for _ in range(4):
        answer = closed.client.post("/v1/reports", content=body, headers=JSON | bearer(key))
        assert answer.status_code == 200
    statuses = [post(closed, bearer(key), reports).status_code for reports in (3, 2, 1, 1)]
    assert statuses == [200, 429, 200, 429]


def test_keeps_a_limit_over_a_restart_and_other_processes(tmp_path: Path) -> None:
    """CO-02: two collectors on one database and a restart grant what one would: 10 in all."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, **KEYED) as one, collector(database, **KEYED) as other:
        control = Control(Settings(database=database))
        key = create_key(control, "app", Scope.INGEST, TODAY, day_reports=10)
        control.close()
        statuses = [
            post(running, bearer(key)).status_code for _ in range(10) for running in (one, other)
        ]
        assert sorted(statuses) == [200] * 10 + [429] * 10
    with collector(database, **KEYED) as again:
        assert post(again, bearer(key)).status_code == 429
        assert again.tally()[0] == [10]


def test_limits_the_requests_of_a_key(closed: Collector, control: Control) -> None:
    """More requests than a key may make in a minute are 429, until the minute is over."""
    key = create_key(control, "app", Scope.ANALYST, TODAY, minute_requests=3)
    answers = [closed.client.get("/v1/metrics", headers=bearer(key)) for _ in range(8)]
    # A minute may end within the test, and grants three more.
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) in {3, 6}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_believes_a_forwarded_address_from_a_named_proxy_alone(tmp_path: Path) -> None:
    """SV-07: a forged X-Forwarded-For on each call wins nothing; a named proxy's is believed."""
    peer = ("192.0.2.7", 1)
    for proxies, believed in (("", False), ("203.0.113.0/24", False), ("192.0.2.0/24", True)):
        limit = IpRateLimit(2, parse_proxies(proxies), seconds=lambda: 60.0)
        passed = 0
        for number in range(20):
            # What the caller wrote itself stands left of what the proxy saw.
            seen = f"203.0.113.1, 198.51.100.{number}".encode()
            scope = {"client": peer, "headers": [(b"x-forwarded-for", seen)]}
            with suppress(TooManyRequests):
                limit.take(scope)
                passed += 1
        assert passed == (20 if believed else 2)


def test_limits_an_address(tmp_path: Path) -> None:
    """Without a key an address may make so many requests a minute; the rest are 429."""
    with collector(tmp_path / "rumor.sqlite3", address_requests=5) as running:
        forged = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(20)]
        statuses = [running.client.get("/v1/metrics", headers=one).status_code for one in forged]
    # A minute may end within the test, and grants five more.
    assert statuses.count(200) in {5, 10}
    assert set(statuses) == {200, 429}


@pytest.mark.parametrize(
    ("forwarded", "found"),
    [
        ("", "10.0.0.1"),
        ("198.51.100.1", "198.51.100.1"),
        ("203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("203.0.114.7:4433", "203.0.114.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ('"[2001:db8::1]:443"', "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("64:ff9b::cb00:7107", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("203.0.113.9, 198.51.100.1:80, 10.0.0.2:4433", "198.51.100.1"),
    ],
)
def test_reads_forwarded_addresses_from_the_right(forwarded: str, found: str) -> None:
    """N-15: the first address that no trusted proxy added is the caller's, in every form."""
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"client": ("10.0.0.1", 1), "headers": headers}
    assert caller(scope, parse_proxies("10.0.0.0/8")) == (ip_address(found), True)


@pytest.mark.parametrize("entry", ["nonsense", "unknown", "_hidden", "1.2.3.4.5", "[x]", "", ":80"])
def test_says_that_an_entry_is_no_address(entry: str, caplog: pytest.LogCaptureFixture) -> None:
    """N-15: what can't be read counts as the proxy's own, is counted, and is logged once."""
    limit = IpRateLimit(9, parse_proxies("10.0.0.0/8"), seconds=lambda: 0.0)
    scope = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", entry.encode())]}
    assert caller(scope, parse_proxies("10.0.0.0/8")) == (ip_address("10.0.0.1"), False)
    for _ in range(3):
        limit.take(scope)
    assert limit.unreadable == 3
    assert caplog.text.count("no address") <= 1
    assert entry == "" or entry not in caplog.text


def test_counts_a_site_of_ipv6_as_one() -> None:
    """Whoever has a /64 has one caller's limit, not 2**64."""
    limit = IpRateLimit(3, (), seconds=lambda: 0.0)
    for number in range(3):
        limit.take({"client": (f"2001:db8::{number:x}", 1), "headers": []})
    with pytest.raises(TooManyRequests):
        limit.take({"client": ("2001:db8::ffff", 1), "headers": []})
    limit.take({"client": ("2001:db8:0:1::1", 1), "headers": []})


def test_refuses_proxies_that_are_none() -> None:
    """A list that holds no addresses and networks is refused by the setting's name."""
    with pytest.raises(SettingsError, match="trusted_proxies"):
        parse_proxies("proxy.example.org")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1:8000", 200),
        ("127.8.9.1", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("rumor.localhost:8000", 200),
        ("evil.example", 403),
        ("evil.example:8000", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("notlocalhost", 403),
        ("192.0.2.1", 403),
    ],
)
def test_a_strangers_name_for_this_machine_opens_nothing(
    tmp_path: Path, host: str, status: int
) -> None:
    """C-14: what is open to this machine alone isn't to a page whose name points here."""
    with collector(tmp_path / "rumor.sqlite3") as running:
        for path in ("/", "/v1/metrics", "/metrics"):
            assert running.client.get(path, headers={"Host": host}).status_code == status
        sent = compact(batch(report()))
        headers = {**JSON, "Host": host}
        assert (
            running.client.post("/v1/reports", content=sent, headers=headers).status_code == status
        )
        assert running.client.get("/healthz", headers={"Host": host}).status_code == 200


def test_what_was_opened_by_decision_is_open_by_any_name(tmp_path: Path) -> None:
    """Behind a proxy on this machine the public name arrives; who decides means it."""
    with collector(tmp_path / "rumor.sqlite3", read_access="open") as running:
        assert running.client.get("/", headers={"Host": "rumor.example.org"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"Origin": "http://localhost"}, True),
        ({"Origin": "https://localhost:443"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://localhost.evil.example"}, False),
        ({"Origin": "evil"}, False),
        ({"Origin": "http://app.example.org"}, True),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "none"}, True),
    ],
)
def test_a_form_of_another_site_is_refused(
    tmp_path: Path, headers: dict[str, str], allowed: bool
) -> None:
    """C-14: by Sec-Fetch-Site where the browser sends it, else by Origin; `null` is foreign."""
    settings = {"read_access": "open", "cors_origins": "http://app.example.org"}
    with collector(tmp_path / "rumor.sqlite3", **settings) as running:
        form = {"texts": "a"}
        answer = running.client.post(
            "/metric/page/candidates", data=form, headers=headers, follow_redirects=False
        )
        assert answer.status_code == (303 if allowed else 403)


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("given", [{}, {"Authorization": "Basic Ondyb25n"}])
def test_tells_a_person_what_to_type(tmp_path: Path, given: dict[str, str]) -> None:
    """O-01: a browser gets a challenge that it knows, in a line of its own, and a page; a program
    gets a problem, as before.
    """
    with collector(tmp_path / "rumor.sqlite3", read_access="key") as running:
        page = running.client.get("/", headers={"Accept": BROWSER, **given})
        assert page.status_code == 401
        assert page.headers.get_list("www-authenticate") == [
            "Bearer",
            'Basic realm="Rumor", charset="UTF-8"',
        ]
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "the password is the key" in page.text
        program = running.client.get("/v1/metrics", headers=given)
        assert program.headers["content-type"] == "application/problem+json"
        assert running.client.get("/static/dashboard.css").status_code == 200
        device = running.client.get("/v1/reports", headers={"Accept": BROWSER})
        assert device.headers["content-type"] == "application/problem+json"


def test_wrong_keys_are_limited_as_none(tmp_path: Path) -> None:
    """C-16: whoever tries keys is told 401 so often, and then to wait."""
    with collector(tmp_path / "rumor.sqlite3", read_access="key", address_requests=5) as running:
        wrong = {"Authorization": "Bearer rumor_analyst_00000000_" + "x" * 43}
        statuses = [running.client.get("/", headers=wrong).status_code for _ in range(12)]
        assert set(statuses) == {401, 429}
        # A minute may end within the test.
        assert statuses.count(401) in {5, 10}


def test_tells_a_browser_to_load_and_guess_nothing(running: Collector) -> None:
    """Every answer carries the security headers: routes, refusals, errors and pages."""
    answers = [
        running.client.get("/healthz"),
        running.client.get("/docs"),
        running.client.get("/nowhere"),
        running.client.get("/v1/metrics/theme/estimates"),
        running.client.post("/v1/reports", content=b"x"),
    ]
    for answer in answers:
        for name in HEADERS:
            assert answer.headers[name]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
    assert "default-src 'none'" in answers[0].headers["content-security-policy"]


def test_tells_of_verdicts_that_they_are_json_alone(running: Collector) -> None:
    """A device's verdicts say not to guess their type, and nothing that is meant for pages."""
    answer = running.client.post("/v1/reports", content=compact(batch(report())), headers=JSON)
    assert answer.status_code == 200
    assert {name for name in HEADERS if name in answer.headers} == set(VERDICT_HEADERS)
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_has_cors_off(running: Collector) -> None:
    """No origin is allowed unless it is configured."""
    origin = {"Origin": "https://app.example.org"}
    answer = running.client.get("/v1/metrics", headers=origin)
    assert "access-control-allow-origin" not in answer.headers
    preflight = origin | {"Access-Control-Request-Method": "POST"}
    assert running.client.options("/v1/reports", headers=preflight).status_code == 405


def test_allows_a_configured_origin(tmp_path: Path) -> None:
    """A configured origin is allowed, without a key for the browser's question; no other is."""
    settings = KEYED | {"cors_origins": "https://app.example.org, https://b.example.org"}
    with collector(tmp_path / "rumor.sqlite3", **settings) as running:
        for origin, allowed in (("https://app.example.org", True), ("https://evil.org", False)):
            preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            answer = running.client.options("/v1/reports", headers=preflight)
            assert answer.headers.get("access-control-allow-origin") == (
                origin if allowed else None
            )
        assert "access-control-allow-credentials" not in answer.headers


def test_refuses_another_sites_page(running: Collector) -> None:
    """A page elsewhere can't make a reader's browser send something with the reader's key."""
    site = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.org"}
    answer = running.client.post("/v1/metrics/theme/estimates", headers=site | JSON, content=b"{}")
    assert answer.status_code == 403
    assert running.client.get("/v1/metrics", headers=site).status_code == 200


@pytest.mark.parametrize("host", ["192.0.2.1", "::", "example.org"])
def test_starts_open_to_others_by_choice_alone(host: str) -> None:
    """Beyond loopback, someone has to choose who may do what."""
    with pytest.raises(SettingsError, match="ingest_access"):
        open_scopes(Settings(host=host))
    chosen = Settings(host=host, ingest_access="open", read_access="key", metrics_access="key")
    assert open_scopes(chosen) == {Scope.INGEST}


def test_is_open_on_loopback() -> None:
    """On loopback what nobody decided is open, and what somebody closed is closed."""
    for host in ("127.0.0.1", "::1", "localhost"):
        assert open_scopes(Settings(host=host)) == set(Scope)
    assert open_scopes(Settings(read_access="key")) == {Scope.INGEST, Scope.ADMIN}
