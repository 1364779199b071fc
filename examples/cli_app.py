"""A program that ends after a second: it counts to which format documents are exported.

What one run can't send within two seconds, the next one sends: the report is in the file before
`record` returns.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rumor import Client

FORMATS = ("csv", "json", "pdf")


def main(argv: list[str]) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="cli_app")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("export").add_argument("format", choices=FORMATS)
    telemetry = commands.add_parser("telemetry", help="what this program reports, and whether")
    telemetry.add_argument("choice", choices=("show", "grant", "deny", "forget"))
    given = parser.parse_args(argv)
    with Client(
        Path(__file__).with_name("metrics.toml"),
        os.environ.get("RUMOR_ENDPOINT"),
        app="example-cli",
        state=os.environ.get("RUMOR_STATE"),
    ) as client:
        if given.command == "export":
            client.record("export-format", given.format)
            print("exported")
            return 0
        match given.choice:
            case "grant":
                client.consent.grant()
            case "deny":
                client.consent.deny()
            case "forget":
                print(client.forget())
                return 0
        print(client.status())
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
