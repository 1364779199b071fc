"""`python -m benchmarks.echo PORT`: the least that an ASGI application can do."""

from __future__ import annotations

import sys

from starlette.types import Receive, Scope, Send

from rumor_server.serving import listen, server_for
from rumor_server.settings import Settings


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what came."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main(port: int) -> None:
    """Serve the echo as `rumor serve` serves the collector, until SIGTERM."""
    with listen("127.0.0.1", port) as listening:
        server_for(echo, Settings(), lifespan=False).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))
