"""`rumor conformance`: measure a client in another language. The page is docs/protocol.md."""

from __future__ import annotations

import argparse
import json
import math
import sys
from contextlib import ExitStack
from time import monotonic, sleep

from rumor_shared.os_errors import explain_listening
from rumor_simulations.conformance.registry import EVERYDAY, registry_text

_POLL = 0.05
EXIT_WRONG = 1


def main(argv: list[str]) -> int:
    """Run one command; 0 where the client conforms, 1 where it doesn't or can't be judged."""
    given = _parser().parse_args(argv)
    if given.command == "vectors":
        from rumor_simulations.conformance.vectors import vectors

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
    serve.add_argument("--port", type=_port, default=8765, help="the port; 0 takes a free one")
    serve.add_argument("--seconds", type=_seconds, default=120.0, help="give up after so long")
    return parser


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError("give 0 to 65535")
    return port


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError("give a number of seconds above 0")
    return seconds


def _serve(host: str, port: int, seconds: float) -> int:
    from rumor_simulations.conformance.judge import Judge
    from rumor_simulations.conformance.server import judging

    judge = Judge()
    with ExitStack() as stack:
        try:
            url = stack.enter_context(judging(judge, host, port))
        except OSError as error:
            said = explain_listening(host, port, error)
            print(f"rumor conformance: {said}", file=sys.stderr)
            return EXIT_WRONG
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
    return 0 if judge.conforms else EXIT_WRONG
