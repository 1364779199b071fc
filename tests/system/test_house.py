"""The house as those outside meet it: the built wheel, a base install, and the tracked files."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

HOUSE = Path(__file__).parents[2]
ROOMS = ("rumor", "rumor_client", "rumor_server", "rumor_shared", "rumor_simulations")


def run(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a program from the root of the house; any exit code but the expected one fails."""
    result = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def base_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh virtual environment that holds the wheel, no extras.

    Run it with `-I`, so that no variable of the caller's leads it back to the working tree.
    """
    environment = tmp_path_factory.mktemp("base")
    # Without a pip of its own, which takes most of the time: this interpreter's pip fills it.
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel)
    return python


def test_wheel_is_typed_and_licensed(wheel: Path) -> None:
    """The wheel holds the rooms, the facade and the licence; each package is marked as typed."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {f"{room}/py.typed" for room in ROOMS} <= set(names)
    samples = "rumor_server/cli/starter/deploy/"
    deploy = HOUSE / "deploy"
    assert {name.removeprefix(samples) for name in names if name.startswith(samples)} == {
        path.relative_to(deploy).as_posix() for path in deploy.rglob("*") if path.is_file()
    }
    (metadata,) = {name.partition("/")[0] for name in names} - set(ROOMS)
    assert metadata.endswith(".dist-info")
    assert f"{metadata}/licenses/LICENSE" in names


def test_wheel_carries_the_version_of_its_script(wheel: Path, base_install: Path) -> None:
    """The version is written in one place: the wheel's name and `rumor --version` agree on it."""
    _, built, *_ = wheel.stem.split("-")
    printed = run(base_install, "-I", base_install.with_name("rumor"), "--version").stdout
    assert printed == f"rumor {built}\n"


def test_base_install_imports_the_client_alone(base_install: Path) -> None:
    """A base install imports every module of the client, and in doing so nothing but the standard
    library, mmh3 and bitarray: no numpy, no pydantic, no fastapi, no msgspec.
    """
    script = """
import importlib, pkgutil, sys, rumor, rumor.testing, rumor_client
for module in pkgutil.walk_packages(rumor_client.__path__, "rumor_client."):
    importlib.import_module(module.name)
ours = {"rumor", "rumor_client", "rumor_shared", "mmh3", "bitarray"}
roots = {name.partition(".")[0] for name in sys.modules}
print(*sorted(roots - ours - set(sys.stdlib_module_names) - {"__main__"}))
"""
    foreign = set(run(base_install, "-I", "-c", script).stdout.split())
    # What site imports on its own account, before the first line runs, carries an underscore.
    assert {name for name in foreign if not name.startswith("_")} == set()


def test_base_install_records_into_an_outbox(base_install: Path, tmp_path: Path) -> None:
    """A base install records into a durable outbox, and loads none of the server's libraries."""
    script = """
import sys
from rumor import Client
client = Client(sys.argv[1], state=sys.argv[2], environ={})
client.consent.grant()
metric = next(iter(client.registry.metrics.values()))
value = metric.mechanism.values[0] if metric.mechanism.values else "a value"
print(client.record(metric.name, value).status, len(client.waiting()))
heavy = {"numpy", "pydantic", "fastapi", "msgspec", "scipy"}
print(*sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""
    registry = HOUSE / "examples" / "metrics.toml"
    done = run(base_install, "-I", "-c", script, registry, tmp_path / "state")
    assert done.stdout.split() == ["recorded", "1"]


def test_base_install_measures_other_clients(base_install: Path) -> None:
    """`rumor conformance` needs no extra, though it stands with the simulations."""
    rumor = base_install.with_name("rumor")
    vectors = json.loads(run(base_install, "-I", rumor, "conformance", "vectors").stdout)
    assert vectors["pseudonyms"]
    judged = run(
        base_install, "-I", rumor, "conformance", "serve", "--port=0", "--seconds=.1", code=1
    )
    assert "NOT SEEN  schema" in judged.stdout


def test_base_install_names_the_missing_extra(base_install: Path) -> None:
    """`rumor serve` on a base install says which extra to install and exits with 3."""
    result = run(base_install, "-I", base_install.with_name("rumor"), "serve", code=3)
    assert "pip install 'rumor[server]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_system_tests_import_no_room() -> None:
    """Tests of the whole system see it from outside: none imports a room."""
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            rooms = {name.partition(".")[0] for name in names} & set(ROOMS)
            assert not rooms, f"{path.name}:{getattr(node, 'lineno', 0)} imports {rooms}"


# What the import linter can't follow is done in these files alone: the client's lazy facade, and
# the list of commands, which reads docstrings without an import.
BUILT_UP = {
    "client/rumor_client/__init__.py",
    "shared/rumor_shared/overview.py",
}


def modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Each Python file below folders of the house, by its path from the root."""
    for folder in folders:
        for path in sorted((HOUSE / folder).rglob("*.py")):
            yield path.relative_to(HOUSE).as_posix(), ast.parse(path.read_text("utf-8"))


def test_imports_can_be_followed() -> None:
    """No import is built up from text, but in the two files that say why."""
    rooms = ("client", "server", "shared", "simulations/rumor_simulations")
    found = {
        name
        for name, tree in modules(*rooms)
        for node in ast.walk(tree)
        if {"import_module", "__import__", "find_spec"}
        & {getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None)}
    }
    assert found - BUILT_UP == set()


def test_decisions_name_no_web_library() -> None:
    """Statistics and what ingestion decides import neither pydantic nor msgspec themselves.

    A contract of the import linter would forbid the way through other modules as well.
    """
    decisions = "server/rumor_server/ingestion/"
    found = [
        f"{name}:{node.lineno}"
        for name, tree in modules("server/rumor_server/statistics", decisions)
        # The batch is where the wire's structures are read and written.
        if name not in {f"{decisions}batch.py", f"{decisions}retraction.py"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for root in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if (root or "").partition(".")[0] in {"fastapi", "msgspec", "pydantic", "starlette"}
    ]
    assert found == []


def test_no_file_names_a_machine() -> None:
    """No file of the repository holds a path of somebody's machine or a package registry's host."""
    if not (HOUSE / ".git").exists():
        pytest.skip("not a clone, so git cannot tell which files belong to it")
    path = r"(?<![\w.~-])/(?:work|tmp|root|home|Users)/\w"
    host = r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.org|debian\.org)\b"
    named = re.compile(f"{path}|{host}".encode())
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    found = [
        f"{name}: {match[0].decode()}"
        for name in listed.split("\0")
        if name and (HOUSE / name).is_file()
        for match in named.finditer((HOUSE / name).read_bytes())
    ]
    assert found == []


def test_make_targets_are_documented() -> None:
    """Each target of the Makefile stands in what `make` alone prints, and in CONTRIBUTING."""
    makefile = (HOUSE / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    targets = {f"make {target}" for target in phony.split()} - {"make help"}
    guide = (HOUSE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {target for target in targets if f"`{target}`" not in guide} == set()
    printed = run("make", "--no-print-directory").stdout
    assert {target for target in targets if target not in printed} == set()
