"""What this device reports, and who decides it.

The command line of a device, `rumor device` or `python -m rumor_client`: what it reports, and
who decides it.

Only a client in an app, and a choice that is made here, make a state where there is none; nothing
here renames a file.

status    what holds, what is spent, what waits, what was dropped
view      every report that waits or was sent, as bytes and as what they say
consent   show, grant or deny, for one purpose or all
forget    deny all, take back what was sent, delete everything but the ledger's totals
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rumor_client.client import FORGET_TIMEOUT, Client
from rumor_client.errors import ConfigurationError, StateBusy, StateUnavailable
from rumor_client.state.paths import state_path
from rumor_client.state.sqlite_state import SqliteState
from rumor_shared.errors import RegistryError
from rumor_shared.os_errors import explain
from rumor_shared.registry import load_registry

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0; 1 where there is no state or it can't be used, or something is left to be erased or
    forgotten; 2 for a wrong call.
    """
    # What an app collects may be said in any language, and a console may know only ASCII.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    given = parser.parse_args(argv)
    if not (given.app or given.state or given.endpoint):
        parser.error("one of --app, --state and --endpoint is needed, to find the state")
    try:
        registry = load_registry(given.registry)
        path = Path(given.state) if given.state else state_path(given.app, given.endpoint)
    except (ConfigurationError, RegistryError) as error:
        return _fail(error, EXIT_USAGE)
    except StateUnavailable as error:
        return _fail(error, EXIT_FAILED)
    except OSError as error:
        return _fail(explain(error), EXIT_USAGE)
    try:
        problem = _state_problem(path, makes=given.command == "consent" and given.choice != "show")
        if problem:
            return _fail(problem, EXIT_FAILED)
        with Client(
            registry,
            given.endpoint,
            state=SqliteState(path, as_found=path.exists()),
            key=given.key,
            background=False,
        ) as client:
            return _run(client, given)
    except ConfigurationError as error:
        return _fail(error, EXIT_USAGE)
    except (StateBusy, StateUnavailable) as error:
        return _fail(f"{path}: {error}", EXIT_FAILED)


def _fail(said: object, code: int) -> int:
    print(f"rumor device: {said}", file=sys.stderr)
    return code


def _state_problem(path: Path, *, makes: bool) -> str | None:
    """Return what is wrong with the place of a state; say where one will be made."""
    try:
        if path.is_dir():
            return f"{path}: is a folder; give a file"
        if path.exists():
            return None
    except OSError as error:
        return explain(error)
    if not makes:
        return f"{path}: there is no state; no app has recorded there, or it has another name"
    print(f"rumor device: {path}: makes a state, since there is none", file=sys.stderr)
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rumor device", description="What this device reports.")
    parser.add_argument("--registry", required=True, help="the app's registry file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--app", help="the app's name")
    where.add_argument("--state", help="the app's state file, if it has a place of its own")
    parser.add_argument(
        "--endpoint",
        help="the collector's address: where reports are taken back, and how the state of an app"
        " without a name is found",
    )
    parser.add_argument("--key", help="the collector's ingest key, if it asks for one")
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="what holds, what is spent, what waits, what was dropped")
    commands.add_parser("view", help="every report that waits or was sent")
    consent = commands.add_parser("consent", help="show, grant or deny")
    consent.add_argument("choice", nargs="?", choices=("show", "grant", "deny"), default="show")
    consent.add_argument("--purpose", help="one purpose; all without it")
    forget = commands.add_parser("forget", help="stop, take back what was sent, delete the rest")
    forget.add_argument(
        "--timeout", type=_seconds, default=FORGET_TIMEOUT, help="how long to wait, in seconds"
    )
    forget.add_argument(
        "--give-up", action="store_true", help="delete also what the collector doesn't answer for"
    )
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError("give a number of seconds from 0")
    return seconds


def _run(client: Client, given: argparse.Namespace) -> int:
    if given.command == "status":
        status = client.status()
        _print(dataclasses.asdict(status)) if given.json else print(status)
        return 0
    if given.command == "view":
        reports = client.view()
        if given.json:
            _print({"reports": [dataclasses.asdict(report) for report in reports]})
            return 0
        for report in reports:
            print(report)
        return 0
    if given.command == "forget":
        forgotten = client.forget(given.timeout, give_up=given.give_up)
        _print(dataclasses.asdict(forgotten)) if given.json else print(forgotten)
        return 0 if forgotten.complete else EXIT_FAILED
    return _consent(client, given.choice, given.purpose, given.json)


def _consent(client: Client, choice: str, purpose: str | None, as_json: bool) -> int:
    erased = True
    if choice == "grant":
        client.consent.grant(purpose)
    elif choice == "deny":
        erased = client.consent.deny(purpose)
    effective = {name: client.consent.effective(name) for name in client.consent.purposes}
    if as_json:
        consent = {name: dataclasses.asdict(found) for name, found in effective.items()}
        _print({"consent": consent, "erasure_pending": not erased})
        return 0 if erased else EXIT_FAILED
    for name, found in effective.items():
        print(f"consent        {name}: {found}")
    if not erased:
        print("The file is in use: what was deleted is overwritten when it is next opened.")
    return 0 if erased else EXIT_FAILED


def _print(document: dict[str, Any]) -> None:
    """Print one object; bytes in hexadecimal, days as YYYY-MM-DD."""
    print(json.dumps(document, indent=2, allow_nan=False, default=_plain))


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    sys.exit(main())
