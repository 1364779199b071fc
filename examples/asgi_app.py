"""A web app on an event loop: it counts to which format its documents are exported.

`record` syncs a file, which takes about a millisecond: on a loop that serves thousands it belongs
into a thread. At shutdown `aflush` uploads what waits while the loop goes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from rumor import Client

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# How long a shutdown may wait for the collector, in seconds.
SHUTDOWN = 2.0

client = Client(
    Path(__file__).with_name("metrics.toml"),
    os.environ.get("RUMOR_ENDPOINT"),
    app="example-asgi",
    state=os.environ.get("RUMOR_STATE"),
)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer `POST /export/FORMAT`, `POST /telemetry/grant` and `/deny`, `GET /telemetry`."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "http":
        status, text = await _answer(scope["method"], scope["path"].strip("/").split("/"))
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode() + b"\n"})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            await client.aflush(timeout=SHUTDOWN)
            await asyncio.to_thread(client.close)
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "lifespan.startup.complete"})


async def _answer(method: str, path: list[str]) -> tuple[int, str]:
    match method, path:
        case "POST", ["export", wanted]:
            await asyncio.to_thread(client.record, "export-format", wanted)
            return 200, "exported"
        case "POST", ["telemetry", "grant"]:
            await asyncio.to_thread(client.consent.grant)
            return 200, "thank you"
        case "POST", ["telemetry", "deny"]:
            await asyncio.to_thread(client.consent.deny)
            return 200, "nothing is sent any more"
        case "GET", ["telemetry"]:
            return 200, str(await asyncio.to_thread(client.status))
    return 404, "no such page"
