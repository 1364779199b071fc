"""Shell completion of the script `rumor`: what a shell is told once, and what each Tab answers.

A shell calls `rumor --complete WORDS...` with the words after `rumor` up to the cursor, the last
one unfinished, and gets candidates, one a line. Names of commands come from the entry points alone.
What follows a name is asked of the command itself, if it is made with typer, through the variables
by which click's commands answer a shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint

# Each asks anew at every Tab, so that an update of rumor needs no new script.
SCRIPTS = {
    "bash": """\
# Add to ~/.bashrc:  eval "$(rumor --completion bash)"
_rumor() {
    local IFS=$'\\n'
    COMPREPLY=($(rumor --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o nosort -F _rumor rumor
""",
    "zsh": """\
# Add to ~/.zshrc, after compinit:  eval "$(rumor --completion zsh)"
_rumor() {
    local -a found
    found=("${(@f)$(rumor --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _rumor rumor
""",
    "fish": """\
# Add to ~/.config/fish/config.fish:  rumor --completion fish | source
complete -c rumor -f -a '(rumor --complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c rumor -n 'test (count (commandline -opc)) -gt 1' -F
""",
}
_FIRST = ("--completion", "--help", "--version")


def candidates(words: list[str], commands: Mapping[str, EntryPoint]) -> list[str]:
    """Return what the last of `words`, unfinished, may become; empty where files may stand."""
    *before, unfinished = words or [""]
    if not before:
        return [word for word in (*sorted(commands), *_FIRST) if word.startswith(unfinished)]
    if before == ["--completion"]:
        return [shell for shell in SCRIPTS if shell.startswith(unfinished)]
    name, *rest = before
    if name not in commands:
        return []
    try:
        command = commands[name].load()
        module = sys.modules[commands[name].module]
    except ImportError:
        return []
    # What a base install lacks is not imported to be known: the command has brought it, or not.
    shells = sys.modules.get("typer.completion")
    if shells is None or not any(type(one).__name__ == "Typer" for one in vars(module).values()):
        return []
    shells.completion_init()
    line = shlex.join(["rumor", *rest]) + " " + shlex.quote(unfinished)
    asked = {
        f"_RUMOR {name.upper()}_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(rest) + 1),
    }
    with _environment(asked), contextlib.redirect_stdout(io.StringIO()) as answer:
        command([])
    return [one for one in answer.getvalue().splitlines() if one]


@contextlib.contextmanager
def _environment(asked: Mapping[str, str]) -> Iterator[None]:
    kept = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
