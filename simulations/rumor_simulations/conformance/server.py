"""The judging collector over HTTP, with the standard library alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rumor_shared.wire import MAX_BATCH_BYTES, REGISTRY_PATH
from rumor_simulations.conformance.judge import Judge
from rumor_simulations.conformance.registry import registry
from rumor_simulations.conformance.script import Reply


@contextmanager
def judging(judge: Judge, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve the judge for the block, one request at a time. Gives the base URL."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        # Connections may be kept, so that a client that sends two days over one is seen.
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self._days: list[str] = []

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MAX_BATCH_BYTES:
                self.close_connection = True
                judge.fail("schema", "a request has no Content-Length, or one over 1 MiB")
                self._send(Reply(413, {"title": "too large"}))
                return
            body = self.rfile.read(int(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                reply = judge.meet(self.path, headers, body, self._days)
            self._send(reply)

        def do_GET(self) -> None:
            if self.path == REGISTRY_PATH:
                self._write(200, "application/toml", registry().body, {"ETag": _etag()})
            else:
                with lock:
                    judge.fail("redirect", f"a request came to {self.path}")
                self._send(Reply(404, {"title": "no such page"}))

        def _send(self, reply: Reply) -> None:
            if reply.status == 0:
                self.close_connection = True
                return
            self._write(reply.status, reply.type, reply.body, dict(reply.headers))

        def _write(self, status: int, type_: str, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Type": type_}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep standard error for what matters."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        judge.close()


def _etag() -> str:
    return f'"{registry().sha256}"'
