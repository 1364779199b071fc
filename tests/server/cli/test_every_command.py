"""Every command of the script `rumor`, as people and scripts meet it: JSON, mistakes, consoles."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from docs.generators.commands_page import EXIT_CODES, entry_points
from tests.docs.blocks import HOUSE
from tests.harness.collector import REGISTRY, batch, compact, report
from tests.harness.collector_process import DAY, RUMOR, Serving

from rumor_shared import console

# The question is not ASCII: whatever shows it must do without, where a console knows no more.
LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")
LASTING = LASTING.replace(
    'values = ["light", "dark", "system"]',
    'values = ["light", "dark", "système ☃"]\nquestion = "Welches Thema wählst du?"',
)
YESTERDAY = DAY - timedelta(days=1)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector with two reports of yesterday, in a folder with what commands may ask for."""
    folder = tmp_path_factory.mktemp("commands")
    shutil.copytree(HOUSE / "tests" / "data" / "rappor", folder / "rappor")
    auto = LASTING.replace('mechanism = "krr"', 'mechanism = "auto"\nexpected_devices = 1000')
    (folder / "auto.toml").write_text(auto, "utf-8")
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "empty").mkdir()
    (folder / "notes").write_text("important, not to be lost\n", "utf-8")
    with closing(sqlite3.connect(folder / "theirs")) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    running = Serving(folder, LASTING)
    running.start()
    try:
        sent = batch(report(), report(payload=b"\x02"), day=YESTERDAY)
        assert running.request("POST", "/v1/reports", compact(sent)).status == 200
        yield running
    finally:
        running.kill()


def run(
    serving: Serving, *words: str, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `rumor` in the folder, piped, with nothing of this machine's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RUMOR_", "DO_NOT"))}
    home = {"HOME": str(serving.database.parent)}
    return subprocess.run(
        [str(RUMOR), *words],
        capture_output=True,
        check=False,
        timeout=120,
        cwd=serving.database.parent,
        env={**kept, **home, "RUMOR_URL": f"http://127.0.0.1:{serving.port}", **(environ or {})},
    )


DEVICE = ("device", "--registry", "metrics.toml", "--state", "state", "--json")
PRINTING = [
    ("registry", "check", "metrics.toml", "--json"),
    ("registry", "mechanisms", "--json"),
    ("plan", "--values", "4", "--epsilon", "1", "--devices", "1000", "--json"),
    ("plan", "--write", "auto.toml", "--json"),
    ("query", "theme", "--json"),
    ("keys", "create", "first", "--scope", "analyst", "--database", "keys.sqlite3", "--json"),
    ("keys", "list", "--database", "keys.sqlite3", "--json"),
    ("keys", "revoke", "first", "--database", "keys.sqlite3", "--json"),
    ("settings", "--json"),
    ("db", "status", "--json"),
    ("db", "upgrade", "--json"),
    ("backup", "copy.sqlite3", "--json"),
    ("restore", "copy.sqlite3", "--database", "restored.sqlite3", "--json"),
    ("init", "started", "--keys", "--json"),
    (*DEVICE, "consent", "grant"),
    (*DEVICE, "status"),
    (*DEVICE, "view"),
    (*DEVICE, "forget"),
]


def test_prints_one_json_document_wherever_data_is_printed(serving: Serving) -> None:
    """With --json standard output is one JSON document in ASCII, and nothing else stands there."""
    for words in PRINTING:
        done = run(serving, *words)
        assert done.returncode == 0, (words, done.stderr)
        document = json.loads(done.stdout.decode("ascii"))
        assert document, words


def test_json_says_what_the_table_says(serving: Serving) -> None:
    """A few figures of the documents, one a command."""

    def read(*words: str) -> Any:
        return json.loads(run(serving, *words, "--json").stdout)

    checked = read("registry", "check", "metrics.toml")
    assert checked["metrics"][0]["epsilon_report"] == 1.0
    assert checked["metrics"][0]["lifetime_epsilon"] is None
    assert checked["metrics"][1]["lifetime_epsilon"] == pytest.approx(4.39445, abs=1e-5)
    assert ["krr"] in [one["names"] for one in read("registry", "mechanisms")["mechanisms"]]
    assert read("db", "status")["up_to_date"] is True
    assert read("query", "theme")["n"] == 2
    assert {one["about"] for one in read("doctor")} >= {"database", "registry"}


# What people get wrong; each with the exit code, and a word that the one line about it has.
MISTAKES = [
    (("srve",), 2, "serve"),
    (("--completion", "tcsh"), 2, "bash"),
    (("serve", "--port", "many"), 2, "port"),
    (("serve", "--port", "70000"), 1, "port"),
    (("serve", "--registry", "empty"), 1, "empty: is a folder"),
    (("serve", "--registry", "metrics.toml", "--database", "noise.bin"), 1, "not a SQLite"),
    (("serve", "--registry", "metrics.toml", "--database", "empty"), 1, "empty: is a folder"),
    (
        ("serve", "--registry", "metrics.toml", "--database", "no/x"),
        1,
        "no: there is no such folder",
    ),
    (("serve", "--registry", "metrics.toml", "--database", "notes"), 1, "notes: is not a SQLite"),
    (("serve", "--registry", "metrics.toml", "--database", "theirs"), 1, "theirs: belongs to"),
    (("registry", "check", "missing.toml"), 1, "missing.toml: does not exist"),
    (("registry", "check", "noise.bin"), 1, "noise.bin"),
    (("registry", "check", "empty"), 1, "empty: is a folder"),
    (("registry", "check", "no/metrics.toml"), 1, "no: there is no such folder"),
    (("plan", "--values", "1"), 1, "values"),
    (("plan", "--values", "4", "--epsilon", "much", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "NaN", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "1e400", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "-1", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "1", "--accuracy", "nan"), 1, "accuracy"),
    (("plan", "--write", "noise.bin"), 1, "noise.bin"),
    (("plan", "--write", "missing.toml"), 1, "missing.toml: does not exist"),
    (("plan", "--write", "empty"), 1, "empty: is a folder"),
    (("query", "unknown"), 1, "404"),
    (("query", "theme", "--url", "nowhere"), 1, "url"),
    (("query", "theme", "--url", "http://127.0.0.1:9"), 1, "no collector"),
    (("query", "theme", "--from", "yesterday"), 1, "not a day"),
    (("query", "theme", "--alpha", "2"), 1, "alpha"),
    (("query", "theme", "--key", "wrong\nkey"), 1, "key"),
    (("query", "page", "--candidates", "noise.bin"), 1, "UTF-8"),
    (("query", "page", "--candidates", "missing"), 1, "missing: does not exist"),
    (("query", "page", "--candidates", "empty"), 1, "empty: is a folder"),
    (("query", "theme", "--revision", "1.5"), 2, "revision"),
    (("query", "theme", "--revision", "0"), 1, "revision"),
    (("query", "theme", "--alpha", "nan"), 1, "alpha"),
    (("query", "theme", "--alpha", "1e-300"), 1, "alpha"),
    (("query", "theme", "--top", "0"), 2, "top"),
    (("keys", "create", "x", "--scope", "king"), 2, "scope"),
    (("keys", "create", "x", "--scope", "analyst", "--expires", "soon"), 2, "expires"),
    (("keys", "list", "--database", "noise.bin"), 1, "not a SQLite"),
    (("keys", "list", "--database", "empty"), 1, "empty: is a folder"),
    (("keys", "list", "--database", "missing.sqlite3"), 1, "missing.sqlite3: there is no such"),
    (("keys", "list", "--database", "notes"), 1, "notes: is not a SQLite"),
    (("keys", "revoke", "nobody"), 1, "rumor keys list"),
    (("keys", "revoke", "x", "--database", "missing.sqlite3"), 1, "missing.sqlite3: there is no"),
    (("keys", "create", "x", "--scope", "admin", "--minute-requests", "-1"), 1, "minute-requests"),
    (("keys", "create", "x", "--scope", "admin", "--day-reports", "9" * 30), 1, "day-reports"),
    (("settings", "--settings", "missing.toml"), 1, "missing.toml: does not exist"),
    (("settings", "--settings", "noise.bin"), 1, "noise.bin"),
    (("settings", "--settings", "empty"), 1, "empty: is a folder"),
    (("db", "status", "--database", "noise.bin"), 1, "not a SQLite"),
    (("db", "status", "--database", "empty"), 1, "empty: is a folder"),
    (("db", "status", "--database", "no/x.sqlite3"), 1, "no: there is no such folder"),
    (("db", "upgrade", "--database", "empty"), 1, "empty: is a folder"),
    (("db", "upgrade", "--database", "no/x.sqlite3"), 1, "no: there is no such folder"),
    (("backup", "empty"), 1, "empty"),
    (("backup", "nowhere/copy.sqlite3"), 1, "nowhere: there is no such folder"),
    (("backup", "again.sqlite3", "--database", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("backup", "again.sqlite3", "--database", "noise.bin"), 1, "noise.bin: is not a SQLite"),
    (("backup", "again.sqlite3", "--database", "theirs"), 1, "theirs: belongs to another"),
    (("backup", "again.sqlite3", "--database", "empty"), 1, "empty: is a folder"),
    (("restore", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("restore", "empty", "--database", "other.sqlite3"), 1, "empty: is a folder"),
    (("restore", "noise.bin", "--database", "other.sqlite3"), 1, "noise.bin: is not a SQLite"),
    (("restore", "theirs", "--database", "other.sqlite3"), 1, "theirs: belongs to another"),
    (("restore", "rumor.sqlite3", "--database", "empty"), 1, "empty: is a folder"),
    (("doctor", "--database", "noise.bin"), 1, ""),
    (("doctor", "--database", "empty"), 1, "empty: is a folder"),
    (("doctor", "--database", "no/x.sqlite3"), 1, "no: there is no such folder"),
    (("doctor", "--registry", "noise.bin"), 1, ""),
    (("tallies", "export", "out.npz", "--database", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("tallies", "export", "out.npz", "--database", "noise.bin"), 1, "not a SQLite"),
    (("tallies", "export", "out.npz", "--database", "postgres://127.0.0.1:9/x"), 1, "reached"),
    (("tallies", "merge", "noise.bin", "--database", "merged.sqlite3"), 1, "noise.bin"),
    (("tallies", "export", "out.npz", "--database", "empty"), 1, "empty: is a folder"),
    (
        ("tallies", "merge", "missing.npz", "--database", "merged.sqlite3"),
        1,
        "missing.npz: does not",
    ),
    (("tallies", "merge", "empty", "--database", "merged.sqlite3"), 1, "empty: is a folder"),
    (("import", "rappor", "--params", "missing", "--counts", "noise.bin"), 1, "missing"),
    (("import", "rappor", "--params", "noise.bin", "--counts", "noise.bin"), 1, "noise.bin"),
    (("import", "rappor", "--params", "empty", "--counts", "empty"), 1, "empty"),
    (("import", "rappor", "--params", "x", "--counts", "x", "--alpha", "nan"), 2, "alpha"),
    (("import", "rappor", "--params", "x", "--counts", "x", "--alpha", "1e-320"), 2, "alpha"),
    (("init", "noise.bin"), 1, "noise.bin: is there already"),
    (("init", "noise.bin/below"), 1, "noise.bin"),
    (("conformance", "serve", "--port", "70000"), 2, "--port: give 0 to 65535"),
    (("conformance", "serve", "--port", "many"), 2, "--port: give 0 to 65535"),
    (("conformance", "serve", "--seconds", "nan"), 2, "--seconds: give a number"),
    (("conformance", "serve", "--seconds", "inf"), 2, "--seconds: give a number"),
    (("conformance", "serve", "--host", "no-machine.invalid", "--port", "0"), 1, "no machine"),
    (("device", "--registry", "missing.toml", "--state", "state", "status"), 2, "missing.toml"),
    (("device", "--registry", "noise.bin", "--state", "state", "status"), 2, "noise.bin"),
    (("device", "--registry", "empty", "--state", "state", "status"), 2, "empty: is a folder"),
    (
        ("device", "--registry", "metrics.toml", "--state", "empty", "status"),
        1,
        "empty: is a folder",
    ),
    (("device", "--registry", "metrics.toml", "--state", "gone", "status"), 1, "gone: there is no"),
    (("device", "--registry", "metrics.toml", "--state", "notes", "status"), 1, "notes: "),
    (("device", "--registry", "metrics.toml", "--state", "theirs", "view"), 1, "theirs: "),
    (("device", "--registry", "metrics.toml", "--app", "nobody", "status"), 1, "there is no state"),
    (("device", "--registry", "metrics.toml", "status"), 2, "--state"),
]


@pytest.mark.parametrize(("words", "code", "word"), MISTAKES, ids=lambda one: str(one)[:60])
def test_answers_a_mistake_in_a_line(
    serving: Serving,
    words: tuple[str, ...],
    code: int,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A mistake ends with the documented exit code and names what is wrong; nothing is raised."""
    for name in [name for name in os.environ if name.startswith("RUMOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RUMOR_URL", f"http://127.0.0.1:{serving.port}")
    monkeypatch.chdir(serving.database.parent)
    try:
        found = console.main(words)
    except SystemExit as stop:  # argparse leaves so, and so the script ends
        found = int(stop.code or 0)
    said = capsys.readouterr()
    assert found == code, said.out + said.err
    assert said.err or (words[0] == "doctor" and said.out)
    assert word in said.err
    assert "Traceback" not in said.err
    assert "Errno" not in said.err
    assert sorted((serving.database.parent / "empty").iterdir()) == []


LOOKING = [
    ("keys", "list", "--database"),
    ("keys", "revoke", "x", "--database"),
    ("db", "status", "--database"),
    ("doctor", "--database"),
    ("backup", "made.sqlite3", "--database"),
    ("tallies", "export", "made.npz", "--database"),
    ("registry", "check"),
    ("plan", "--write"),
    ("settings", "--settings"),
    ("query", "page", "--candidates"),
    *(
        ("device", "--registry", "metrics.toml", *more, "--state")
        for more in ((), ("--endpoint", "http://127.0.0.1:9"))
    ),
]


def test_looking_makes_and_renames_nothing(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only reads, given a path where nothing is or another program's file, leaves a folder as
    it was: no file made, renamed or changed.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUMOR_URL", f"http://127.0.0.1:{serving.port}")
    shutil.copy(serving.registry, tmp_path / "metrics.toml")
    for name in ("notes", "theirs"):
        shutil.copy(serving.database.parent / name, tmp_path / name)
        (tmp_path / name).chmod(0o644)

    def found() -> dict[str, tuple[int, bytes]]:
        return {one.name: (one.stat().st_mode, one.read_bytes()) for one in tmp_path.iterdir()}

    before = found()
    for words in LOOKING:
        for path in ("nothing", "notes", "theirs"):
            more = ("status",) if words[0] == "device" else ()
            with suppress(SystemExit):
                console.main([*words, path, *more])
            assert found() == before, (words, path)


@pytest.mark.parametrize("json_", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ("query", "theme"),
        ("registry", "check", "metrics.toml"),
        ("plan", "--values", "4", "--epsilon", "1", "--devices", "1000"),
        ("settings",),
    ],
)
def test_works_where_a_console_knows_only_ascii(
    serving: Serving, words: tuple[str, ...], json_: bool
) -> None:
    """Piped, in ASCII, with NO_COLOR: everything is said, without an escape sequence."""
    environ = {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run(serving, *words, *(["--json"] if json_ else []), environ=environ)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout.decode("ascii")
    if json_:
        json.loads(done.stdout)
    elif words[0] == "query":
        assert b"w\\xe4hlst" in done.stdout


def test_every_exit_code_of_the_page_is_one_that_happens() -> None:
    """Each documented code is a constant of the script, 0 or 1, and each is seen in a test.

    0, 1 and 2 here; 3 and 130 in tests/shared/test_console.py, which plays their causes.
    """
    codes = {value for name, value in vars(console).items() if name.startswith("EXIT_")}
    assert {int(code) for code in EXIT_CODES} == {0, 1, *codes}
    assert {code for _, code, _ in MISTAKES} == {1, 2}
    played = (HOUSE / "tests" / "shared" / "test_console.py").read_text("utf-8")
    for code in codes - {2}:
        assert str(code) in played


def test_every_command_explains_itself(serving: Serving) -> None:
    """`--help` of each command is 0, whatever the console."""
    for name in entry_points():
        done = run(serving, name, "--help", environ={"PYTHONIOENCODING": "ascii"})
        assert (done.returncode, done.stderr) == (0, b""), name
        assert b"usage" in done.stdout.lower()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("re", ["registry", "restore"]),
        ("--comp", ["--completion"]),
        ("--completion z", ["zsh"]),
        ("serve --po", ["--port"]),
        ("keys ", ["create", "list", "revoke"]),
        ("keys create x --scope a", ["analyst", "admin"]),
        ("serve --registry a' --po", ["--port"]),
        ("demo --dev", ["--devices"]),
        ("device --st", []),
        ("nosuch --", []),
    ],
)
def test_completes_what_is_typed(
    words: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Names come from the entry points, subcommands, options and choices from typer's commands."""
    assert console.main(["--complete", *words.split(" ")]) == 0
    assert capsys.readouterr().out.split() == expected
    assert not [name for name in os.environ if name.startswith(("_RUMOR", "COMP_"))]


SHELLS = {
    "bash": 'COMP_WORDS=(rumor serve --po); COMP_CWORD=2; _rumor; echo "${COMPREPLY[@]}"',
    "zsh": 'words=(rumor serve --po); CURRENT=3; compadd() { shift; print -r -- "$@" }; _rumor',
    "fish": "complete -C 'rumor serve --po'",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_take_the_script(shell: str) -> None:
    """The script that `--completion` prints completes an option, in each shell that is here."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = subprocess.run(
        [str(RUMOR), "--completion", shell], capture_output=True, text=True, check=True
    ).stdout
    quiet = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    first = "compdef() { }\n" if shell == "zsh" else ""
    done = subprocess.run(
        [shell, quiet, "-c", f"{first}{script}\n{SHELLS[shell]}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{RUMOR.parent}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.stdout.split() == ["--port"], done.stderr
