"""`python -m benchmarks.echo PORT [FILE]`: the least that an ASGI application can do.

With a file each answer waits for a durable insert of the rows that a report needs: an id, the spend
of two accounts and a tally's cells, in group commit on one writer thread, and nothing decided.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.measures.ingestion import DAY, VALUES
from rumor_server.serving import listen, server_for
from rumor_server.settings import Settings
from rumor_server.storage.sqlite.file import open_writer


class Inserts:
    """Inserts the rows of one report for whoever waits, as many as wait in one transaction."""

    def __init__(self, file: Path) -> None:
        self._waiting: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = (
            SimpleQueue()
        )
        self._file = file
        threading.Thread(target=self._run, daemon=True).start()

    def insert(self) -> asyncio.Future[None]:
        """Return what ends once the rows are durable."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.put((loop, future))
        return future

    def _run(self) -> None:
        connection = open_writer(self._file, 5)
        connection.execute("INSERT INTO registries VALUES ('r', x'00')")
        connection.execute("INSERT INTO series VALUES (1, 'bench', 1, 'f', 'r')")
        day, cells = DAY.toordinal(), bytes(8 * len(VALUES))
        while True:
            group = [self._waiting.get()]
            while not self._waiting.empty():
                group.append(self._waiting.get())
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO ids VALUES (?, ?, ?, 0)",
                [(os.urandom(16), day, os.urandom(16)) for _ in group],
            )
            connection.executemany(
                "INSERT INTO spend VALUES (?, ?, 1)",
                [(day, os.urandom(16)) for _ in group for _ in range(2)],
            )
            connection.execute(
                "INSERT INTO tallies VALUES (1, ?, 0, 0, ?, ?) ON CONFLICT DO UPDATE "
                "SET reports = reports + excluded.reports, cells = excluded.cells",
                (day, len(group), cells),
            )
            connection.execute("COMMIT")
            loop = group[0][0]
            loop.call_soon_threadsafe(_end, [future for _, future in group])


def _end(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def echo(inserts: Inserts | None) -> ASGIApp:
    """Return an application that answers with what came, after an insert where there are any."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if inserts is not None:
            await inserts.insert()
        length = b"%d" % len(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def main(port: int, file: str | None = None) -> None:
    """Serve the echo as `rumor serve` serves the collector, until SIGTERM."""
    app = echo(None if file is None else Inserts(Path(file)))
    with listen("127.0.0.1", port) as listening:
        server_for(app, Settings(), lifespan=False).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3])
