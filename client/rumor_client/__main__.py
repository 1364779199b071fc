"""What the device's owner can ask and decide, in a terminal: `python -m rumor_client --help`.

status    what holds, what is spent, what waits, what was dropped
view      every report that waits or was sent
consent   show, grant or deny, for one purpose or all
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rumor_client.client import Client
from rumor_client.errors import ConfigurationError, StateBusy, StateUnavailable
from rumor_client.report import Report
from rumor_shared.epsilon import MICRO, format_micro
from rumor_shared.errors import RegistryError

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 where the state can't be used, 2 for a wrong
    call.
    """
    given = _parser().parse_args(argv)
    try:
        with Client(
            given.registry, given.endpoint, app=given.app, state=given.state, background=False
        ) as client:
            if given.command == "status":
                _status(client)
            elif given.command == "view":
                _view(client)
            else:
                return _consent(client, given.choice, given.purpose)
    except (ConfigurationError, RegistryError) as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"{given.registry}: {error.strerror}", file=sys.stderr)
        return EXIT_USAGE
    except (StateBusy, StateUnavailable) as error:
        print(error, file=sys.stderr)
        return EXIT_FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rumor device", description="What this device reports.")
    parser.add_argument("--registry", required=True, help="the app's registry file")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--app", help="the app's name")
    where.add_argument("--endpoint", help="the collector's address, for an app without a name")
    where.add_argument("--state", help="the app's state file, if it has a place of its own")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("status", help="what holds, what is spent, what waits, what was dropped")
    commands.add_parser("view", help="every report that waits or was sent")
    consent = commands.add_parser("consent", help="show, grant or deny")
    consent.add_argument("choice", nargs="?", choices=("show", "grant", "deny"), default="show")
    consent.add_argument("--purpose", help="one purpose; all without it")
    return parser


def _status(client: Client) -> None:
    status = client.status()
    _show_consent(client)
    print(f"spent today    {_spent(status.spent_today, status.daily_cap)}")
    print(f"spent so far   {_spent(status.spent_life, status.lifetime_cap)}")
    print(f"waiting        {status.waiting} reports, {status.waiting_bytes} bytes")
    print(f"sent           {status.sent} reports that could still be taken back")
    for reason, reports in sorted(status.dropped.items()):
        print(f"dropped        {reports} reports: {reason}")
    if status.erasure_pending:
        print("erasure        pending: another program is reading the file")


def _spent(spent: int, cap: int | None) -> str:
    """Say what an account means: Dwork and Roth 2014, definition 2.4, in the form of odds."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 3
        factor = (Decimal(spent) / MICRO).exp()
    limit = "no cap" if cap is None else f"cap {format_micro(cap)}"
    return (
        f"epsilon {format_micro(spent)} ({limit}): whichever of two histories you had, an"
        f" observer's odds between them change by at most a factor of {factor}"
    )


def _view(client: Client) -> None:
    for position, report in client.waiting():
        print(f"waiting  {position:>6}  {_line(report)}")
    for report, verdict, reason in client.sent():
        print(f"sent     {reason or verdict}  {_line(report)}")


def _line(report: Report) -> str:
    return (
        f"{report.day}  {report.metric} revision {report.revision}  cohort {report.cohort}"
        f"  payload {report.payload.hex()}  id {report.id.hex()}"
    )


def _consent(client: Client, choice: str, purpose: str | None) -> int:
    erased = True
    if choice == "grant":
        client.consent.grant(purpose)
    elif choice == "deny":
        erased = client.consent.deny(purpose)
    _show_consent(client)
    if not erased:
        print("The file is in use: what was deleted is overwritten when it is next opened.")
    return 0 if erased else EXIT_FAILED


def _show_consent(client: Client) -> None:
    for purpose in client.consent.purposes:
        found = client.consent.effective(purpose)
        since = f", since {found.as_of}" if found.as_of else ""
        print(f"consent        {purpose}: {found.choice} (from {found.source}{since})")


if __name__ == "__main__":
    sys.exit(main())
