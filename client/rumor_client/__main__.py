"""What the device's owner can ask and decide, in a terminal: `python -m rumor_client --help`.

status    what holds, what is spent, what waits, what was dropped
view      every report that waits or was sent, as bytes and as what they say
consent   show, grant or deny, for one purpose or all
forget    deny all, take back what was sent, delete everything but the ledger's totals
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from rumor_client.client import FORGET_TIMEOUT, Client
from rumor_client.errors import ConfigurationError, StateBusy, StateUnavailable
from rumor_shared.errors import RegistryError

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0; 1 where the state can't be used, or something is left to be erased or forgotten; 2 for a
    wrong call.
    """
    parser = _parser()
    given = parser.parse_args(argv)
    if not (given.app or given.state or given.endpoint):
        parser.error("one of --app, --state and --endpoint is needed, to find the state")
    try:
        with Client(
            given.registry,
            given.endpoint,
            app=given.app,
            state=given.state,
            key=given.key,
            background=False,
        ) as client:
            return _run(client, given)
    except (ConfigurationError, RegistryError) as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"{given.registry}: {error.strerror}", file=sys.stderr)
        return EXIT_USAGE
    except (StateBusy, StateUnavailable) as error:
        print(error, file=sys.stderr)
        return EXIT_FAILED


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
        "--timeout", type=float, default=FORGET_TIMEOUT, help="how long to wait, in seconds"
    )
    forget.add_argument(
        "--give-up", action="store_true", help="delete also what the collector doesn't answer for"
    )
    return parser


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
