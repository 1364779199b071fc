"""The command reference: every command, argument and option, from the objects that parse them."""

from __future__ import annotations

import argparse
import importlib
import inspect
import tomllib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from docs.generators.explained import NOTICE, check_explained, table

from rumor_shared import console
from rumor_shared.completion import SCRIPTS

_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXIT_CODES = {
    "0": "It is done.",
    "1": "It can't be done; standard error says why, and what to do.",
    str(console.EXIT_USAGE): "The call is wrong: an unknown command or option, or a bad value.",
    str(console.EXIT_MISSING_EXTRA): "A module is not installed; the message names the extra.",
    str(console.EXIT_INTERRUPTED): "Ctrl-C.",
}


def page() -> str:
    """Return the page. Raises Unexplained for an exit code without a meaning."""
    codes = {str(value) for name, value in vars(console).items() if name.startswith("EXIT_")}
    check_explained("exit codes", {"0", "1", *codes}, EXIT_CODES)
    lines = [
        NOTICE,
        "",
        "# Command reference",
        "",
        "`rumor --help` lists the commands, `rumor COMMAND --help` explains one. Results go to",
        "standard output; progress, remarks and errors to standard error. `NO_COLOR` is obeyed.",
        "With `--json` standard output is one JSON document in ASCII and nothing else; the exit",
        "code says whether it is good news.",
        "",
        "`rumor --completion SHELL` prints what makes a shell complete commands, options and",
        f"choices at a Tab; it knows {', '.join(SCRIPTS)}. For bash, add",
        '`eval "$(rumor --completion bash)"` to `~/.bashrc`; the first line of what is printed',
        "says where it goes for another.",
        "",
        *table(("exit code", "means"), EXIT_CODES.items()),
    ]
    for name, target in entry_points().items():
        lines += [f"## `rumor {name}`", "", *_needs(target), *_command(name, target)]
    return "\n".join(lines).rstrip() + "\n"


def entry_points() -> dict[str, str]:
    """Return the target of each command by its name, as the package declares them."""
    project: dict[str, Any] = tomllib.loads(_PYPROJECT.read_text("utf-8"))["project"]
    declared: dict[str, str] = project["entry-points"]["rumor.commands"]
    return dict(sorted(declared.items()))


def _needs(target: str) -> Iterator[str]:
    _, _, extra = target.partition(" [")
    if extra:
        yield f"Needs `pip install 'rumor[{extra[:-1]}]'`."
        yield ""


def _command(name: str, target: str) -> Iterator[str]:
    module = importlib.import_module(target.partition(":")[0])
    applications = [one for one in vars(module).values() if isinstance(one, typer.Typer)]
    if applications:
        yield from _click(name, typer.main.get_command(applications[0]), 3)
    else:
        yield from _argparse(_parser(module), module)


def _click(path: str, command: Any, level: int) -> Iterator[str]:
    yield from _prose(command.help or "")
    rows = [row for one in command.params if (row := _parameter(one)) is not None]
    if rows:
        yield from table(("argument or option", "default", "meaning"), rows)
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield f"{'#' * level} `rumor {path} {name}`"
        yield ""
        yield from _click(f"{path} {name}", below, level + 1)


def _parameter(one: Any) -> tuple[str, str, str] | None:
    if one.name == "help" or getattr(one, "hidden", False):
        return None
    if one.param_type_name == "argument":
        shown = f"`{(one.metavar or one.name).upper()}`"
        # The class has no help of its own in click, but typer's has.
        return shown, _default(one), getattr(one, "help", None) or ""
    words = ", ".join(f"`{word}`" for word in (*one.opts, *one.secondary_opts))
    meaning = one.help or ""
    kind = one.type_descriptor.annotation
    if inspect.isclass(kind) and issubclass(kind, Enum):
        meaning += " One of " + ", ".join(f"`{choice.value}`" for choice in kind) + "."
    if one.envvar:
        meaning += f" Or the variable `{one.envvar}`."
    return words, _default(one), meaning.strip()


def _default(one: Any) -> str:
    if one.required:
        return "must be given"
    default = one.default() if callable(one.default) else one.default
    if default is None or default is False or default in ((), []):
        return ""
    if type(default).__name__ == "Sentinel" or default is inspect.Parameter.empty:
        return ""
    if one.name == "processes":
        return "one a core"
    return f"`{getattr(default, 'value', default)}`"


def _parser(module: ModuleType) -> argparse.ArgumentParser:
    found = next(
        made
        for name, made in vars(module).items()
        if "parser" in name and inspect.isfunction(made) and not inspect.signature(made).parameters
    )
    parser = found()
    assert isinstance(parser, argparse.ArgumentParser)  # noqa: S101 - what such a function makes
    return parser


def _argparse(parser: argparse.ArgumentParser, module: ModuleType) -> Iterator[str]:
    yield from _prose(parser.description or "")
    rows: list[tuple[str, str, str]] = []
    commands: list[tuple[str, str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {one.dest: one.help or "" for one in action._choices_actions}
            commands += [(name, about.get(name, ""), one) for name, one in action.choices.items()]
        elif not isinstance(action, argparse._HelpAction):
            words = ", ".join(f"`{word}`" for word in action.option_strings)
            rows.append(
                (words or f"`{action.dest.upper()}`", _shown(action), _sentence(action.help))
            )
    if rows:
        yield from table(("argument or option", "default", "meaning"), rows)
    for name, help_, below in commands:
        yield f"### `{parser.prog} {name}`"
        yield ""
        yield from _prose(_sentence(help_))
        yield from _argparse(below, module)


def _shown(action: argparse.Action) -> str:
    if action.required and action.option_strings:
        return "must be given"
    return "" if action.default in (None, False) else f"`{action.default}`"


def _sentence(words: str | None) -> str:
    text = (words or "").strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")


def _prose(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.strip():
            yield " ".join(paragraph.split())
            yield ""
