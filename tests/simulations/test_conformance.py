"""The conformance kit: vectors that are current, and a judge that lets our client pass alone."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.harness.devices import ROOT

from rumor_client import Client, MemoryState, Request, Response
from rumor_client.arguments import send
from rumor_client.perturbation.mechanisms.table import BUILT_IN, perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_client.process.clock import utc_now
from rumor_client.state.report import Report
from rumor_client.testing import client_for
from rumor_client.upload import uploader as upload
from rumor_client.upload.encoding import encode_batch, text_of
from rumor_simulations.commands.conformance import main
from rumor_simulations.conformance.judge import Judge
from rumor_simulations.conformance.registry import registry, registry_text
from rumor_simulations.conformance.script import CHECKS
from rumor_simulations.conformance.server import judging
from rumor_simulations.conformance.vectors import vectors

PAGE = ROOT / "docs" / "protocol.md"
FILE = ROOT / "docs" / "protocol-vectors.json"


def test_the_vectors_are_current() -> None:
    """The file in docs is what the script prints; a change of it is a change of the protocol."""
    assert json.loads(FILE.read_text("utf-8")) == vectors()


def test_every_mechanism_has_vectors() -> None:
    """Each mechanism that a client has is in the registry of the kit, and has payloads."""
    with_payloads = {
        type(perturber(registry().metric(each["metric"]))) for each in vectors()["payloads"]
    }
    assert with_payloads == {made() for made in BUILT_IN.values()}


def test_payload_vectors_hold_exactly_the_bytes_that_are_read() -> None:
    """One byte less does not make the payload."""
    for each in vectors()["payloads"]:
        metric = registry().metric(each["metric"])
        if metric.mechanism.memoised:
            continue
        stream = io.BytesIO(bytes.fromhex(each["random"]))
        read = Randomness(stream.read)
        payload = perturber(metric).perturb(each["value"], each["cohort"], read)
        assert payload.hex() == each["payload"]
        assert stream.read() == b""


def test_the_page_describes_every_section_check_and_metric_field() -> None:
    """docs/protocol.md names each part of the vectors, each check, reason, verdict and status."""
    page = PAGE.read_text("utf-8")
    for part in vectors():
        assert f"`{part}`" in page, part
    for check in CHECKS:
        assert f"| {check} |" in page, check
    from rumor_shared.wire import Reason, Retraction, Verdict

    for word in (*Reason, *Verdict, *Retraction):
        assert f"`{word.value}`" in page, word
    for name in ("krr", "binary", "sue", "oue", "rappor", "basic_rappor", "subset"):
        assert f"`{name}`" in page
    for name in ("local_hashing", "hadamard", "pgr", "cms", "hcms"):
        assert f"`{name}`" in page


def judged(client_of: Callable[[str], Client], seconds: float = 90) -> Judge:
    """Return the judge, after a client has recorded and uploaded in the background."""
    judge = Judge(quiet=0.5, retry_after=1)
    with judging(judge) as url:
        client = client_of(url)
        # Reports enough for a compressed body, and for batches that can be told apart.
        for _ in range(12):
            client.record("homepage", "chrome")
        end = time.monotonic() + seconds
        while not judge.done and time.monotonic() < end:
            client.record("colour", "red")
            time.sleep(0.05)
        client.forget(timeout=5)
        client.close()
    return judge


def client_of(url: str, **given: Any) -> Client:
    """Return our client, eager."""
    return client_for(
        registry(),
        endpoint=url,
        state=MemoryState(),
        clock=utc_now,
        background=True,
        upload_interval=0.1,
        **({"transport": send, "jitter": lambda: 0.1} | given),
    )


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's proxies out."""
    monkeypatch.setenv("no_proxy", "*")


def test_our_client_conforms() -> None:
    """Every check is seen and passed, the optional ones too."""
    judge = judged(client_of)
    assert judge.conforms, judge.report()
    assert {check.verdict for check in judge.checks.values()} == {"PASS"}
    assert "The client conforms." in judge.report()


def restless(request: Request) -> Response:
    """Follow no Retry-After, and take every answer for an acknowledgement."""
    response = send(request)
    if response.status == 503:
        return Response(500, {}, b"")
    return response


def test_a_client_that_doesnt_wait_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that comes back before `Retry-After` has passed does not conform."""
    judge = judged(lambda url: client_of(url, transport=restless))
    assert judge.checks["503"].verdict == "FAIL"
    assert not judge.conforms


def test_a_client_with_fresh_noise_on_retry_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes under the same id are seen, and what was judged is said."""
    count = 0

    def fresh(day: Any, name: bytes, reports: list[Report], *rest: Any) -> bytes:
        nonlocal count
        count += 1
        changed = bytes([count % 3])
        body = encode_batch(day, name, reports, *rest)
        colour = [report for report in reports if report.metric == "colour"]
        for report in colour:
            old = f'"payload":"{text_of(report.payload)}"'.encode()
            body = body.replace(old, f'"payload":"{text_of(changed)}"'.encode())
        return body

    monkeypatch.setattr(upload, "encode_batch", fresh)
    judge = judged(client_of, seconds=4)
    assert judge.checks["same bytes"].verdict == "FAIL"
    assert "FAIL      same bytes" in judge.report()


def test_a_client_that_believes_a_portal_fails() -> None:
    """A client that takes any 200 for a receipt loses reports, and is told so."""

    def believe(request: Request) -> Response:
        response = send(request)
        if response.status != 200 or b"results" in response.body or b"retract" in request.body:
            return response
        body = request.body
        if request.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        reports = json.loads(body)["reports"]
        results = [{"id": each["id"], "verdict": "accepted"} for each in reports]
        whole = {"results": results, "server_day": "2026-11-30"}
        return Response(200, {"content-type": "application/json"}, json.dumps(whole).encode())

    judge = judged(lambda url: client_of(url, transport=believe), seconds=5)
    assert judge.checks["portal"].verdict == "FAIL"
    assert "never came again" in judge.report()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda b: b.replace(b'"sdk"', b'"sdk":"x","sdk"'), "a key stands twice"),
        (lambda b: b.replace(b'"cohort":0', b'"cohort":0,"more":1'), "exactly the keys"),
        (lambda b: b.replace(b'"cohort":0', b'"cohort":"0"'), "cohort is not an integer"),
        (lambda b: b.replace(b'"cohort":0', b'"cohort":1'), "cohort is not in"),
        (lambda b: b.replace(b'"revision":1', b'"revision":2'), "revision is not"),
        (lambda b: b.replace(b'"payload":"AA=="', b'"payload":"AB=="'), "canonical"),
        (lambda b: b.replace(b'"payload":"AA=="', b'"payload":"AA"'), "not base64"),
        (lambda b: b.replace(b'"payload":"AA=="', b'"payload":"Aw=="'), "not an index"),
        (lambda b: b.replace(b'"colour"', b'"shape"'), "not in the registry"),
        (lambda b: b.replace(b'"2026-', b'"9026-'), "after the collector's"),
        (lambda b: b.replace(b'"2026-', b'"026-'), "not YYYY-MM-DD"),
        (lambda b: b[:-1], "not JSON"),
    ],
)
def test_each_rule_of_the_schema_is_judged(change: Callable[[bytes], bytes], what: str) -> None:
    """A body that breaks one rule fails, with the rule in the judgement."""
    day = utc_now().date().replace(year=2026, month=1, day=1)
    report = Report(bytes(16), day, "colour", 1, 0, b"\0", "conformance")
    body = change(encode_batch(day, bytes(16), [report]))
    judge = Judge()
    reply = judge.meet("/v1/reports", {"content-type": "application/json"}, body, [])
    assert reply.status == 400
    assert what in judge.report()


def test_two_days_over_one_connection_or_name_are_judged() -> None:
    """Days that could be linked fail."""
    judge, connection = Judge(), list[str]()
    for number in (1, 2):
        day = utc_now().date().replace(year=2026, month=1, day=number)
        report = Report(bytes([number] * 16), day, "colour", 1, 0, b"\0", "conformance")
        headers = {"content-type": "application/json"}
        judge.meet("/v1/reports", headers, encode_batch(day, bytes(16), [report]), connection)
    assert set(judge.checks["one day"].faults) == {
        "two days came over one connection",
        "two days came under one pseudonym",
    }


def test_the_command_prints_vectors_and_registry(capsys: pytest.CaptureFixture[str]) -> None:
    """What other languages need is printed as it is in docs."""
    assert main(["vectors"]) == 0
    assert json.loads(capsys.readouterr().out) == vectors()
    assert main(["registry"]) == 0
    assert capsys.readouterr().out == registry_text()


def test_the_command_gives_up_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a client nothing is seen, and the exit code is 1."""
    assert main(["serve", "--port", "0", "--seconds", "0.1"]) == 1
    out = capsys.readouterr().out
    assert "Judging at http://127.0.0.1:" in out
    assert "NOT SEEN  schema" in out
