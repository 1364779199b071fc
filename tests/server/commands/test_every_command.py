"""Every command of the script `rumor`, as people and scripts meet it: JSON, mistakes, consoles."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from docs.generators.commands_page import EXIT_CODES, entry_points
from tests.docs.blocks import HOUSE
from tests.server.collecting import REGISTRY, batch, compact, report
from tests.system.serving import RUMOR, Serving

from rumor_shared import console

# The question is not ASCII: whatever shows it must do without, where a console knows no more.
LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")
LASTING = LASTING.replace(
    'values = ["light", "dark", "system"]',
    'values = ["light", "dark", "système ☃"]\nquestion = "Welches Thema wählst du?"',
)
YESTERDAY = datetime.now(UTC).date() - timedelta(days=1)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector with two reports of yesterday, in a folder with what commands may ask for."""
    folder = tmp_path_factory.mktemp("commands")
    shutil.copytree(HOUSE / "tests" / "data" / "rappor", folder / "rappor")
    auto = LASTING.replace('mechanism = "krr"', 'mechanism = "auto"\nexpected_devices = 1000')
    (folder / "auto.toml").write_text(auto, "utf-8")
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "empty").mkdir()
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
    (*DEVICE, "status"),
    (*DEVICE, "consent", "grant"),
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
    (("serve", "--registry", "empty"), 1, "empty"),
    (("serve", "--registry", "metrics.toml", "--database", "noise.bin"), 1, "not a SQLite"),
    (("serve", "--registry", "metrics.toml", "--database", "empty"), 1, "database"),
    (("registry", "check", "missing.toml"), 1, "missing.toml"),
    (("registry", "check", "noise.bin"), 1, "noise.bin"),
    (("registry", "check", "empty"), 1, "empty"),
    (("plan", "--values", "1"), 1, "values"),
    (("plan", "--values", "4", "--epsilon", "much", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "NaN", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "1e400", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "-1", "--devices", "9"), 1, "epsilon"),
    (("plan", "--values", "4", "--epsilon", "1", "--accuracy", "nan"), 1, "accuracy"),
    (("plan", "--write", "noise.bin"), 1, ""),
    (("plan", "--write", "missing.toml"), 1, "missing.toml"),
    (("query", "unknown"), 1, "404"),
    (("query", "theme", "--url", "nowhere"), 1, "url"),
    (("query", "theme", "--url", "http://127.0.0.1:9"), 1, "no collector"),
    (("query", "theme", "--from", "yesterday"), 1, "not a day"),
    (("query", "theme", "--alpha", "2"), 1, "alpha"),
    (("query", "theme", "--key", "wrong\nkey"), 1, "key"),
    (("query", "page", "--candidates", "noise.bin"), 1, "UTF-8"),
    (("query", "page", "--candidates", "missing"), 1, "missing"),
    (("keys", "create", "x", "--scope", "king"), 2, "scope"),
    (("keys", "create", "x", "--scope", "analyst", "--expires", "soon"), 2, "expires"),
    (("keys", "list", "--database", "noise.bin"), 1, "not a SQLite"),
    (("keys", "list", "--database", "empty"), 1, "database"),
    (("keys", "revoke", "nobody", "--database", "keys.sqlite3"), 1, "rumor keys list"),
    (("settings", "--settings", "missing.toml"), 1, "missing.toml"),
    (("settings", "--settings", "noise.bin"), 1, "noise.bin"),
    (("settings", "--settings", "empty"), 1, "empty"),
    (("db", "status", "--database", "noise.bin"), 1, "not a SQLite"),
    (("db", "upgrade", "--database", "empty"), 1, "database"),
    (("backup", "empty"), 1, "empty"),
    (("backup", "nowhere/copy.sqlite3"), 1, "nowhere"),
    (("backup", "again.sqlite3", "--database", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("backup", "again.sqlite3", "--database", "noise.bin"), 1, "not a database"),
    (("restore", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("restore", "noise.bin", "--database", "other.sqlite3"), 1, "not a database"),
    (("doctor", "--database", "noise.bin"), 1, ""),
    (("doctor", "--registry", "noise.bin"), 1, ""),
    (("tallies", "export", "out.npz", "--database", "missing.sqlite3"), 1, "missing.sqlite3"),
    (("tallies", "export", "out.npz", "--database", "noise.bin"), 1, "not a database"),
    (("tallies", "merge", "noise.bin", "--database", "merged.sqlite3"), 1, "noise.bin"),
    (("tallies", "merge", "missing.npz", "--database", "merged.sqlite3"), 1, "missing.npz"),
    (("import", "rappor", "--params", "missing", "--counts", "noise.bin"), 1, "missing"),
    (("import", "rappor", "--params", "noise.bin", "--counts", "noise.bin"), 1, "noise.bin"),
    (("import", "rappor", "--params", "empty", "--counts", "empty"), 1, "empty"),
    (("init", "noise.bin"), 1, "noise.bin"),
    (("device", "--registry", "missing.toml", "--state", "state", "status"), 2, "missing.toml"),
    (("device", "--registry", "noise.bin", "--state", "state", "status"), 2, "noise.bin"),
    (("device", "--registry", "metrics.toml", "--state", "empty", "status"), 1, "state"),
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

    0, 1 and 2 here; 3, 130 and 141 in tests/shared/test_console.py, which plays their causes.
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
