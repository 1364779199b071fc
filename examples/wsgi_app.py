"""A web app on threads or forked workers: it counts to which format its documents are exported.

The client is made when the module is imported, so `gunicorn --preload` makes it before it forks:
each worker goes on with locks, threads and randomness of its own, and all share one state file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rumor import Client

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

client = Client(
    Path(__file__).with_name("metrics.toml"),
    os.environ.get("RUMOR_ENDPOINT"),
    app="example-wsgi",
    state=os.environ.get("RUMOR_STATE"),
)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer `POST /export/FORMAT`, `POST /telemetry/grant` and `/deny`, `GET /telemetry`."""
    method = environ["REQUEST_METHOD"]
    match method, environ["PATH_INFO"].strip("/").split("/"):
        case "POST", ["export", wanted]:
            # Durable when it returns, and never a wait for the network; the result can be ignored.
            client.record("export-format", wanted)
            text = "exported"
        case "POST", ["telemetry", "grant"]:
            client.consent.grant()
            text = "thank you"
        case "POST", ["telemetry", "deny"]:
            client.consent.deny()
            text = "nothing is sent any more"
        case "GET", ["telemetry"]:
            text = str(client.status())
        case _:
            start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"no such page\n"]
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [text.encode(), b"\n"]
