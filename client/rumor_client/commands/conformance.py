"""`rumor conformance`: measure a client in another language. The page is docs/protocol.md."""

from __future__ import annotations

import argparse
import json
from time import monotonic, sleep

from rumor_client.conformance.registry import EVERYDAY, registry_text

_POLL = 0.05


def main(argv: list[str]) -> int:
    """Run one command; 0 where the client conforms, 1 where it doesn't."""
    given = _parser().parse_args(argv)
    if given.command == "vectors":
        from rumor_client.conformance.vectors import vectors

        print(json.dumps(vectors(), indent=1))
        return 0
    if given.command == "registry":
        print(registry_text(), end="")
        return 0
    return _serve(given.host, given.port, given.seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rumor conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("vectors", help="print the vectors as JSON")
    commands.add_parser("registry", help="print the registry that vectors and collector use")
    serve = commands.add_parser("serve", help="run a collector that judges the client sent to it")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    serve.add_argument("--port", type=int, default=8765, help="the port; 0 takes a free one")
    serve.add_argument("--seconds", type=float, default=120.0, help="give up after so long")
    return parser


def _serve(host: str, port: int, seconds: float) -> int:
    from rumor_client.conformance.judge import Judge
    from rumor_client.conformance.server import judging

    judge = Judge()
    with judging(judge, host, port) as url:
        print(f"Judging at {url}", flush=True)
        print(
            f"Let the client record a report of {EVERYDAY!r} every second, and upload, until the"
            " judgement is printed.",
            flush=True,
        )
        end = monotonic() + seconds
        while not judge.done and monotonic() < end:
            sleep(_POLL)
    print(judge.report())
    return 0 if judge.conforms else 1
