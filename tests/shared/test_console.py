"""The `rumor` console script, against commands that a made-up distribution brings."""

import importlib
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from textwrap import dedent

import pytest

from rumor_shared import console
from rumor_shared.overview import about

PLAY = """
    import sys

    def main(argv):
        print("played", *argv)

    def lose(argv):
        return 7

    def stop(argv):
        raise KeyboardInterrupt

    def chat(argv):
        for _ in range(100_000):
            print("and another thing")

    def leave(argv):
        print("short enough to wait in the buffer")
        sys.exit(0)
"""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path whose distribution brings the commands below, each in its own way."""
    modules = {
        "stage_play": PLAY,
        "stage_poor": "import a_module_nobody_has",
        "stage_ours": "import rumor_server.a_module_we_forgot",
        "stage_torn": "from json import a_name_nobody_has",
    }
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(dedent(source), encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    metadata = tmp_path / "stage-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stage\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        dedent("""\
            [rumor.commands]
            play = stage_play:main
            lose = stage_play:lose
            stop = stage_play:stop
            chat = stage_play:chat
            leave = stage_play:leave
            poor = stage_poor:main [server]
            rich = stage_poor:main [postgres,server]
            base = stage_poor:main
            ours = stage_ours:main [server]
            torn = stage_torn:main [server]
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


pytestmark = pytest.mark.usefixtures("stage")


def run_with_reader_gone(stage: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run one command in a process whose standard output nobody reads any more."""
    script = f"""
import sys
sys.path.insert(0, {str(stage)!r})
from rumor_shared.console import main
sys.exit(main([{command!r}]))
"""
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    try:
        return subprocess.run(
            [sys.executable, "-c", script],
            stdout=writing_end,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing_end)


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_overview_lists_every_command(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Alone or asked for help, `rumor` lists the commands of all rooms and how to learn more."""
    assert console.main(argv) == 0
    output = capsys.readouterr().out
    listed = {line.split()[0] for line in output.splitlines() if line.startswith("  ")}
    assert {"demo", "device", "registry", "serve", "play", "poor"} <= listed
    assert "rumor COMMAND --help" in output


def test_overview_says_what_each_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command of ours has words beside its name, within 80 columns; a command whose module
    has no docstring stands there without, and nothing of a command is imported for it.
    """
    # The module of `stage_ours` fails when it is imported.
    assert console.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    said = {line.split()[0]: line.split()[1:] for line in lines if re.match(r"  \S", line)}
    assert said["play"] == []
    assert " ".join(said["serve"]) == "Run a collector until it is told to stop"
    for entry in entry_points(group=console.GROUP):
        if entry.module.startswith("rumor_"):
            assert len(said[entry.name]) > 2, entry.name
    assert "stage_ours" not in sys.modules


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""`rumor x ARGUMENT`: do it; and more."""', "Do it"),
        ('"""Do it. And more.\n\nMuch more."""', "Do it"),
        ('r"""Read 1.5 of it: half.\n"""', "Read 1.5 of it"),
        ("x = 1", ""),
        ("", ""),
        ('"""Never closed', "Never closed"),
    ],
)
def test_overview_reads_the_first_clause(source: str, expected: str, stage: Path) -> None:
    """What stands before the first full stop, semicolon or colon, without the command's name."""
    (stage / "stage_about.py").write_text(source, "utf-8")
    importlib.invalidate_caches()
    assert about("stage_about") == expected


@pytest.mark.parametrize("module", ["no_such_module", "stage_play.inner", "sys", "stage_bytes"])
def test_overview_leaves_out_what_it_cannot_read(module: str, stage: Path) -> None:
    """A module that is missing, built in or no text costs its words, not the overview."""
    (stage / "stage_bytes.py").write_bytes(b'"""\xff"""')
    importlib.invalidate_caches()
    assert about(module) == ""


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    """`rumor --version` prints the version that the installed distribution carries."""
    assert console.main(["--version"]) == 0
    assert capsys.readouterr().out == f"rumor {version('rumor')}\n"


def test_command_gets_the_words_after_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Words after the command's name reach it untouched, options among them."""
    assert console.main(["play", "--help", "-x", "two words"]) == 0
    assert capsys.readouterr().out == "played --help -x two words\n"


def test_words_come_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Called without arguments, as the installed script does, it reads the command line."""
    monkeypatch.setattr(sys, "argv", ["rumor", "play", "here"])
    assert console.main() == 0
    assert capsys.readouterr().out == "played here\n"


def test_exit_code_is_the_commands() -> None:
    """What a command returns is the exit code."""
    assert console.main(["lose"]) == 7


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("srve", "Did you mean `rumor serve`?"),
        ("zzzzzz", "`rumor --help` lists the commands."),
        ("--verison", "`rumor --help` lists the commands."),
    ],
)
def test_unknown_command_suggests_the_nearest(
    word: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown command exits with 2, and a near miss is told which command it missed."""
    assert console.main([word]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == f"rumor: no command {word!r}. {advice}\n"


@pytest.mark.parametrize(
    ("command", "install"),
    [("poor", "pip install 'rumor[server]'"), ("rich", "pip install 'rumor[postgres,server]'")],
)
def test_missing_extra_is_named(
    command: str, install: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command whose extra is not installed says what to install and exits with 3."""
    assert console.main([command]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "'a_module_nobody_has'" in output.err
    assert install in output.err
    assert "Traceback" not in output.err


@pytest.mark.parametrize(
    ("command", "missing"),
    [("ours", "rumor_server.a_module_we_forgot"), ("base", "a_module_nobody_has")],
)
def test_missing_module_that_no_extra_brings_is_a_fault(command: str, missing: str) -> None:
    """A lost module of a room, or one of a command without extras, is not blamed on an extra."""
    with pytest.raises(ModuleNotFoundError) as caught:
        console.main([command])
    assert caught.value.name == missing


def test_other_import_errors_are_faults() -> None:
    """A name that a present module lacks is raised, since no extra would bring it."""
    with pytest.raises(ImportError, match="a_name_nobody_has"):
        console.main(["torn"])


def test_interrupt_exits_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C exits with 130 and prints nothing."""
    assert console.main(["stop"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", ["chat", "play", "leave"])
def test_reader_gone_exits_quietly(command: str, stage: Path) -> None:
    """N-22: when nobody reads the output any more, a command does its work and ends with its own
    code and no complaint, also where all it wrote still waited in the buffer as it exited.
    """
    result = run_with_reader_gone(stage, command)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "code"), [("play", 0), ("lose", 7)])
def test_closed_streams_change_nothing(stage: Path, closed: str, command: str, code: int) -> None:
    """N-22: a command whose standard streams are closed ends with its own code, and no file that
    it opens takes the place of one.
    """
    script = f"""
import os, sys
sys.path.insert(0, {str(stage)!r})
from rumor_shared.console import main
code = main([{command!r}])
file = os.open({str(stage / "file")!r}, os.O_CREAT | os.O_RDWR)
assert file > 2
print("a line of the log", file=sys.stderr)
sys.exit(code)
"""
    words = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, script]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert (stage / "file").read_text() == ""


def test_only_the_standard_library_is_imported() -> None:
    """Loading the script imports nothing outside the standard library and its own two modules."""
    script = dedent("""
        import sys
        before = set(sys.modules)
        import rumor_shared.console
        roots = {name.partition(".")[0] for name in set(sys.modules) - before}
        print(*sorted(roots - sys.stdlib_module_names))
    """)
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["rumor_shared"]
