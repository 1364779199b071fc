"""HTTP for tests: a server on this machine that hands each request to a function."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rumor_client import NoAnswer, Request, Response
from rumor_client.testing import Answer


@contextmanager
def serving(respond: Any) -> Iterator[str]:
    """Serve HTTP: `respond(handler, request)` writes the answer. Gives the base URL."""

    class Handler(BaseHTTPRequestHandler):
        """Hands each request over."""

        def do_POST(self) -> None:
            """Read the request and respond."""
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            respond(self, Request("POST", self.path, dict(self.headers), body, 0))

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write(handler: BaseHTTPRequestHandler, response: Response) -> None:
    """Write a response."""
    handler.send_response(response.status)
    for name, value in response.headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(response.body)))
    handler.end_headers()
    handler.wfile.write(response.body)


@contextmanager
def collecting(collector: Answer) -> Iterator[str]:
    """Serve a collector that is a function, one request at a time. Gives the base URL."""
    lock = threading.Lock()

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        try:
            with lock:
                response = collector(request)
        except NoAnswer:
            handler.close_connection = True
            return
        write(handler, response)

    with serving(respond) as url:
        yield url
