"""What devices and a collector of version 0.1 said to each other, to be said again to later ones.

A later collector may say more than was recorded, and in other words: verdicts, reasons and statuses
are held. A later client may send more, and does with each recorded answer what 0.1 did.
"""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.golden import plain
from tests.golden.opening import Answer, Opened, opened
from tests.golden.world import NEWEST, OLD, TODAY, ago, base64, named

from rumor_client import Request, Response
from rumor_client.testing import client_for

WIRE = OLD / "wire.json"
JSON, MSGPACK = "application/json", "application/vnd.msgpack"
_ID = "ID"
# What a client of one krr report does about each answer; its report's id takes the place of "ID".
_VERDICTS = [
    {"verdict": "accepted"},
    {"verdict": "duplicate"},
    *({"verdict": "rejected", "reason": reason, "detail": "why"} for reason in (
        "unknown_metric", "revision_mismatch", "metric_expired", "malformed_payload", "too_late",
        "budget_exceeded", "conflicting_duplicate",
    )),
    {"verdict": "retry", "reason": "too_early", "detail": "why"},
]  # fmt: skip
_STATUSES = (400, 401, 403, 404, 408, 413, 415, 425, 429, 500, 502, 503, 504, 507)


def record(folder: Path) -> dict[str, Any]:
    """Return what this version's collector and client do."""
    return {
        "day": str(TODAY),
        "collector": [
            {"settings": settings, "exchanges": _answered(folder / str(i), settings, requests)}
            for i, (settings, requests) in enumerate(_sections())
        ],
        "client": [{**told, "outcome": outcome(told)} for told in _told()],
    }


def differences(folder: Path, recorded: Mapping[str, Any]) -> list[str]:
    """Send what was recorded to this installation's collector; return what it answers otherwise."""
    found: list[str] = []
    for i, section in enumerate(recorded["collector"]):
        again = _answered(folder / str(i), section["settings"], section["exchanges"])
        found += changed(section["exchanges"], again)
    return found


def changed(recorded: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each exchange whose answer is not what was recorded."""
    return [
        f"{then['name']}: {_held(then['answer'])} became {_held(now['answer'])}"
        for then, now in zip(recorded, again, strict=True)
        if _held(then["answer"]) != _held(now["answer"])
    ]


def outcome(told: Mapping[str, Any]) -> dict[str, Any]:
    """Have a client of one waiting report hear an answer; return what became of the report."""

    def answer(request: Request) -> Response:
        (report,) = json.loads(_plain_body(request))["reports"]
        body = json.dumps(told["body"]).replace(f'"{_ID}"', json.dumps(report["id"]))
        return Response(told["status"], told["headers"], body.encode())

    with client_for(NEWEST.encode(), transport=answer) as client:
        assert client.record("theme", "dark").recorded
        flushed = client.flush()
        status = client.status()
        return {
            "upload": flushed.status.value,
            "waiting": status.waiting,
            "sent": status.sent,
            "dropped": dict(status.dropped),
            "stopped": status.stopped is not None,
        }


def _plain_body(request: Request) -> bytes:
    encoded = any(value == "gzip" for value in request.headers.values())
    return gzip.decompress(request.body) if encoded else request.body


def _told() -> list[dict[str, Any]]:
    json_headers = {"content-type": JSON}
    results = [
        {
            "status": 200,
            "headers": json_headers,
            "body": {"results": [{"id": _ID, **one}], "server_day": str(TODAY)},
        }
        for one in _VERDICTS
    ]
    problems = [
        {
            "status": status,
            "headers": {"content-type": "application/problem+json", "retry-after": "7"},
            "body": {"type": "about:blank", "title": "a title", "status": status, "detail": "why"},
        }
        for status in _STATUSES
    ]
    return [*results, *problems]


def _held(answer: Mapping[str, Any]) -> Any:
    """Return what of an answer later versions are held to."""
    body = answer["body"]
    kept: dict[str, Any] = {"status": answer["status"]}
    kept |= {name: answer["headers"].get(name) for name in ("content-type", "allow")}
    kept["retry-after"] = "retry-after" in answer["headers"]
    if answer["status"] == 200:
        kept["server_day"] = body["server_day"]
        kept["results"] = [
            {name: one.get(name) for name in ("id", "verdict", "reason")} for one in body["results"]
        ]
    elif isinstance(body, dict):
        kept["problem"] = {name: body.get(name) for name in ("type", "status")}
    return kept


def _answered(
    folder: Path, settings: Mapping[str, Any], requests: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    folder.mkdir()
    with opened(folder / "rumor.sqlite3", NEWEST, TODAY, **settings) as running:
        return [{**_request(one), "answer": send(running, one)} for one in requests]


def _request(exchange: Mapping[str, Any]) -> dict[str, Any]:
    return {name: exchange[name] for name in ("name", "path", "method", "headers", "body")}


def send(running: Opened, exchange: Mapping[str, Any]) -> dict[str, Any]:
    """Send a recorded request; return its answer, MessagePack as if it were JSON."""
    body = exchange["body"]
    # What is no JSON travels as base64.
    raw = b64decode(body["base64"]) if isinstance(body, dict) else body.encode()
    got = running.ask(exchange["path"], exchange["method"], raw or None, exchange["headers"])
    if got.headers.get("content-type") == MSGPACK:
        unpacked = json.dumps(msgspec.to_builtins(msgspec.msgpack.decode(got.body)))
        shown = plain.answer(Answer(got.status, {"content-type": JSON}, unpacked.encode()))
        return {**shown, "headers": {"content-type": MSGPACK}}
    shown = plain.answer(got)
    told = {"content-type", "retry-after", "allow", "www-authenticate", "accept-encoding"}
    headers = {name: value for name, value in shown["headers"].items() if name in told}
    return {**shown, "headers": headers}


def report(
    name: str, metric: str, payload: bytes, revision: int = 1, cohort: int = 0
) -> dict[str, Any]:
    """A report whose id a name stands for; bytes as MessagePack has them."""
    return {
        "id": named(name), "metric": metric, "revision": revision, "cohort": cohort,
        "payload": payload,
    }  # fmt: skip


def exchange(
    name: str,
    *reports: dict[str, Any],
    day: object = TODAY,
    device: str = "device",
    packed: bool = False,
    retracts: bool = False,
) -> dict[str, Any]:
    """A request of one batch, in JSON or MessagePack."""
    field = "retractions" if retracts else "reports"
    batch = {"sdk": "golden/1", "day": str(day), "pseudonym": named(device), field: list(reports)}
    body: Any
    if packed:
        body = {"base64": b64encode(msgspec.msgpack.encode(batch)).decode()}
    else:
        body = msgspec.json.encode(batch).decode()
    return raw(name, body, MSGPACK if packed else JSON, path=f"/v1/{field}")


def raw(
    name: str, body: Any, kind: str = JSON, *, path: str = "/v1/reports", method: str = "POST",
    **headers: str,
) -> dict[str, Any]:  # fmt: skip
    """A request of any bytes."""
    named_headers = {key.replace("_", "-"): value for key, value in headers.items()}
    return {
        "name": name, "path": path, "method": method, "body": body,
        "headers": {"Content-Type": kind, **named_headers},
    }  # fmt: skip


def _sections() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    spoken = [one for packed in (False, True) for one in _spoken(packed)]
    one = exchange("a report", report("alone", "theme", b"\1", 2))
    return [
        ({}, [*spoken, *_refused()]),
        (
            {"ingest_access": "key"},
            [one, {**one, "headers": {**one["headers"], "Authorization": "Bearer wrong"}}],
        ),
        ({"address_requests": 1}, [one, one]),
        ({"reserve_bytes": 1 << 50}, [one]),
    ]


def _spoken(packed: bool) -> list[dict[str, Any]]:
    """Every verdict and reason in one of the two forms."""
    form = "MessagePack" if packed else "JSON"

    def said(name: str, *reports: dict[str, Any], **more: Any) -> dict[str, Any]:
        return exchange(f"{name} in {form}", *reports, packed=packed, **{"device": form, **more})

    def made(
        name: str, metric: str, payload: bytes, revision: int = 1, cohort: int = 0
    ) -> dict[str, Any]:
        return report(f"{form} {name}", metric, payload, revision, cohort)

    dark, page = made("dark", "theme", b"\1", 2), made("page", "page", bytes(8), cohort=3)
    quiet = [made(f"quiet {i}", "quiet", b"\0") for i in range(3)]
    late, awaited = made("late", "theme", b"\1", 2), made("awaited", "theme", b"\2", 2)
    return [
        said("accepted", dark, page),
        said("duplicate", dark, page),
        said("conflicting", {**dark, "payload": b"\2"}),
        said(
            "rejected", made("u", "nothing", b"\0"), made("r", "theme", b"\0", 7),
            made("e", "old", b"\0"), made("m", "theme", b"\x09", 2), made("l", "theme", b"", 2),
            made("c", "page", bytes(8), cohort=4),
        ),
        said("over the budget", *quiet),
        said("too early", late, day=ago(-2)),
        said("of tomorrow", made("tomorrow", "theme", b"\0", 2), day=ago(-1)),
        said("of the last open day", made("last", "theme", b"\0", 2), day=ago(7)),
        said("too late", late, day=ago(8)),
        said("nothing"),
        said("retracted", dark, retracts=True),
        said("already", dark, retracts=True),
        said("sent again after its retraction", dark),
        said("not counted yet", awaited, retracts=True),
        said("comes after its retraction", awaited),
        said("mismatch", {**page, "payload": b"\1" * 8}, retracts=True),
        said("of a closed day", late, day=ago(9), retracts=True),
        said("of a day to come", late, day=ago(-3), retracts=True),
    ]  # fmt: skip


def _refused() -> list[dict[str, Any]]:
    good = exchange("good", report("good", "theme", b"\1", 2))["body"]
    many = exchange("many", *[report("many", "theme", b"\1", 2)] * 501)["body"].encode()
    squeezed = b64encode(gzip.compress(many, mtime=0)).decode()
    zipped = b64encode(gzip.compress(good.encode(), mtime=0)).decode()
    back = exchange("back", report("good", "theme", b"\1", 2), retracts=True)["body"]
    return [
        raw("compressed", {"base64": zipped}, Content_Encoding="gzip"),
        raw("broken compression", good, Content_Encoding="gzip"),
        raw("another coding", good, Content_Encoding="br"),
        raw("too many", {"base64": squeezed}, Content_Encoding="gzip"),
        raw("another type", good, "text/plain"),
        raw("no JSON", "{"),
        raw("no bytes", ""),
        raw("an unknown field", good.replace('"sdk"', '"sdk2":1,"sdk"')),
        raw("a repeated field", good.replace('"sdk"', '"sdk":"a/1","sdk"')),
        raw("a missing field", good.replace('"sdk":"golden/1",', "")),
        raw("no day", good.replace(str(TODAY), "2026-02-30")),
        raw("a short id", good.replace(base64(named("good")), base64(b"short"))),
        raw("another base64", good.replace('"AQ=="', '"AR=="')),
        raw("a minus zero", good.replace('"cohort":0', '"cohort":-0')),
        raw("another method", "", method="GET"),
        raw("no MessagePack", {"base64": base64(b"\xc1")}, MSGPACK),
        raw("retractions where reports are taken", back),
        raw("reports where retractions are taken", good, path="/v1/retractions"),
        raw("another method", "", path="/v1/retractions", method="PUT"),
    ]
