"""How many requests are answered at a time, and which of them wait for nobody."""

import asyncio
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from tests.harness.collector import JSON, batch, collector, compact, report

from rumor_server.errors import Overloaded
from rumor_server.http.body import Unfinished
from rumor_server.http.counters import Counters
from rumor_server.http.slots import RequestSlots


def scope(method: str, path: str = "/v1/reports") -> Scope:
    """A request."""
    return {"type": "http", "method": method, "path": path, "headers": []}


def test_takes_a_slot_once_the_body_is_there() -> None:
    """C-06: who sends slowly keeps nobody out; who is being answered does, and only so long."""
    statuses: list[int] = []
    counters = Counters()
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body", False):
            pass
        await go_on.wait()
        await PlainTextResponse("done")(scope, receive, send)

    async def play() -> None:
        slots = RequestSlots(app, 1, counters)
        bodies: asyncio.Queue[Message] = asyncio.Queue()

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        bodies.put_nowait({"type": "http.request", "body": b"x", "more_body": True})
        slow = asyncio.create_task(slots(scope("POST"), bodies.get, send))
        await asyncio.sleep(0)
        quick = asyncio.create_task(slots(scope("POST"), nothing, send))
        await asyncio.sleep(0)
        await slots(scope("GET", "/v1/metrics"), nothing, send)
        assert statuses == [503]
        health = asyncio.create_task(slots(scope("GET", "/healthz"), nothing, send))
        await asyncio.sleep(0)
        bodies.put_nowait({"type": "http.request", "body": b"x", "more_body": False})
        with pytest.raises(Overloaded):
            await slow
        go_on.set()
        await asyncio.gather(quick, health)
        await slots(scope("GET", "/v1/metrics"), nothing, send)
        assert statuses == [503, 200, 200, 200]

    asyncio.run(play())
    assert counters.refused[503] == 2


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/registry", "/", "/nowhere"])
def test_without_a_slot_a_reader_is_told_when_to_ask_again(tmp_path: Path, path: str) -> None:
    """N-20: a reader hears of asking again, a device of sending again, health is answered."""
    with collector(tmp_path / "rumor.sqlite3", open_requests=1) as running:
        (slots,) = [one for one in _layers(running.client.app) if isinstance(one, RequestSlots)]
        slots._free = 0
        answer = running.client.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert "ask again" in answer.json()["detail"]
        sent = compact(batch(report()))
        device = running.client.post("/v1/reports", content=sent, headers=JSON)
        assert device.status_code == 503
        assert "send them again" in device.json()["detail"]
        for path_ in ("/healthz", "/readyz", "/version"):
            assert running.client.get(path_).status_code == 200
        assert "rumor_ready 1.0" in running.client.get("/metrics").text


def _layers(app: object) -> list[object]:
    found = [getattr(app, "entrance", None)]
    while found[-1] is not None:
        found.append(getattr(found[-1], "_app", getattr(found[-1], "app", None)))
    return found


def test_unfinished_bodies_have_a_bound_together() -> None:
    """K4: bytes of bodies that are on their way are bounded over all connections."""
    unfinished = Unfinished(100)
    unfinished.hold(60)
    with pytest.raises(Overloaded):
        unfinished.hold(41)
    unfinished.release(60)
    unfinished.hold(100)
