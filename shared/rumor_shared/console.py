"""The console script `rumor`: find the command that a room brings, and run it.

Only the standard library is imported here, so that a base install can name the extra a command
needs instead of failing on an import. A command is an entry point of the group `rumor.commands`
that loads to `main(argv) -> int | None`, with the extras it needs in brackets.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from rumor_shared.completion import SCRIPTS, candidates
from rumor_shared.standard_streams import secure
from rumor_shared.version import __version__

GROUP = "rumor.commands"

# 2 is what argparse and click exit with for a wrong call; 128 + signal is what a shell reports
# for SIGINT (2). 3 is ours alone, so that a script can tell "install an extra".
EXIT_USAGE = 2
EXIT_MISSING_EXTRA = 3
EXIT_INTERRUPTED = 130


class Command(Protocol):
    """What an entry point loads to: takes the words after its name, gives an exit code."""

    def __call__(self, argv: list[str], /) -> int | None:
        """Run the command; None means success."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one `rumor` command and return the process's exit code.

    `argv` is the words after `rumor`; without it they come from the command line. Returns 2 for an
    unknown command, 3 where an extra is missing, 130 after Ctrl-C, else what the command returned,
    also where standard output is closed or its reader gone. A fault inside a command is raised as
    it is.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    secure()
    try:
        try:
            return _dispatch(words)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _dispatch(words: list[str]) -> int:
    commands = {entry.name: entry for entry in entry_points(group=GROUP)}
    if not words or words[0] in {"-h", "--help"}:
        from rumor_shared.overview import overview  # a command that is named has no use for it

        print(overview(commands))
        return 0
    name, *rest = words
    if name == "--version":
        print(f"rumor {__version__}")
        return 0
    if name == "--completion":
        return _print_completion(rest)
    if name == "--complete":
        print("\n".join(candidates(rest, commands)))
        return 0
    if name not in commands:
        print(_unknown(name, commands), file=sys.stderr)
        return EXIT_USAGE
    return _run(commands[name], rest)


def _print_completion(shells: list[str]) -> int:
    if len(shells) != 1 or shells[0] not in SCRIPTS:
        print(f"rumor --completion: name one of {', '.join(SCRIPTS)}", file=sys.stderr)
        return EXIT_USAGE
    print(SCRIPTS[shells[0]], end="")
    return 0


def _run(entry: EntryPoint, argv: list[str]) -> int:
    try:
        command: Command = entry.load()
        # A command may need a module of its extra for one of its options alone.
        return command(argv) or 0
    except ModuleNotFoundError as error:
        if not entry.extras or _is_ours(error.name):
            raise
        extras = ",".join(entry.extras)
        print(
            f"rumor {entry.name}: the module {error.name!r} is not installed. "
            f"Install what this command needs: pip install 'rumor[{extras}]'",
            file=sys.stderr,
        )
        return EXIT_MISSING_EXTRA


def _is_ours(module: str | None) -> bool:
    """A module of a room that cannot be found is a fault of ours: no extra would bring it."""
    return module is None or module.startswith("rumor_")


def _unknown(name: str, commands: Mapping[str, EntryPoint]) -> str:
    near = difflib.get_close_matches(name, commands, n=1)
    advice = f"Did you mean `rumor {near[0]}`?" if near else "`rumor --help` lists the commands."
    return f"rumor: no command {name!r}. {advice}"
