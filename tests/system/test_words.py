"""The words of the house: no retired name comes back, and each package tells how to read it.

CONTRIBUTING.md has the glossary. A word is retired as a name, not as a word: a page may still say
that someone stands at a door.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
ROOMS = ("client", "server", "shared", "simulations")

# Names of modules and of what they hold, each with the word that took its place.
MODULES = {
    "addresses": "ip_rate_limit",
    "asking": "reader",
    "crowd": "population",
    "delivery": "upload.result",
    "door": "authentication",
    "exchange": "collector_api, tally_transfer",
    "forgetting": "retraction",
    "gate": "quota",
    "housekeeping": "periodic_tasks",
    "key_limits": "quota",
    "loading": "lazy_imports",
    "operating": "operations",
    "shapes": "report_weights",
    "trouble": "os_errors",
    "twins": "scaled_metric, indistinguishable",
    "warn": "log_once",
}
IDENTIFIERS = {
    "Access": "authentication",
    "Crowd": "population",
    "Exchange": "collector_api, tally_transfer",
    "Gate": "quota",
    "Housekeeping": "periodic_tasks",
    "Overtaken": "RegistrySuperseded",
    "Shapes": "report_weights",
    "adopt": "set_identity, activate, declare",
    "anew": "again",
    "authenticity_told": "authenticity report",
    "beside": "say what stands there",
    "check_site": "check_csrf",
    "crowd": "population",
    "crowd_tally": "population_tally",
    "crowded": "underdetermined",
    "decode_crowded": "underdetermined",
    "find_twins": "indistinguishable candidates",
    "look_at": "report_weights",
    "look_over": "run_checks",
    "over_few_values": "scaled_metric",
    "settle": "plan_fields, apply_verdicts",
    "shapes": "report_weights",
    "told": "say what was said",
    "trouble": "os_errors",
    "twin": "scaled metric, indistinguishable candidate",
    "twins": "scaled metrics, indistinguishable candidates",
    "uncrowded": "overdetermined",
    "whoever": "say who",
}
# Names that a room still has, by the beginning of its path. The list only shrinks.
STILL: dict[str, frozenset[str]] = {
    # Others write tests meanwhile; these four are no names of anything there.
    "tests": frozenset(["anew", "beside", "told", "whoever"]),
    "tests/house": frozenset(["look_at"]),
    "tests/server": frozenset(["Gate"]),
}


def sources(*folders: str) -> Iterator[Path]:
    """The Python files that git knows, below folders of the house."""
    if not (HOUSE / ".git").exists():
        pytest.skip("not a clone, so git cannot tell which files belong to it")
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders)
    listed = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(listed.split("\0"))):
        if name.endswith(".py") and (HOUSE / name).is_file():
            yield HOUSE / name


def name_of(path: Path) -> str:
    """A file's path from the root of the house."""
    return path.relative_to(HOUSE).as_posix()


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each name that a module gives: of definitions, arguments, variables, attributes, aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield getattr(node, "lineno", 0), name


def retired(path: Path, tree: ast.AST) -> Iterator[str]:
    """Each retired name in a file, with its place and the word that took it over."""
    name = name_of(path)
    for part in Path(name).with_suffix("").parts:
        module = part.removeprefix("test_")
        if module in MODULES:
            yield f"{name}: {module} is now {MODULES[module]}"
    for line, found in identifiers(tree):
        if (word := found.strip("_")) in IDENTIFIERS:
            yield f"{name}:{line}: {word} is now {IDENTIFIERS[word]}"


def test_no_retired_name_comes_back() -> None:
    """No module and no name of the rooms or the tests is a retired one."""
    found = [
        what
        for path in sources(*ROOMS, "tests")
        for what in retired(path, ast.parse(path.read_text("utf-8")))
        if not is_allowed(what)
    ]
    assert found == []


def is_allowed(what: str) -> bool:
    """Whether the room of a finding still has that name."""
    word = what.split(": ")[1].split(" is now", maxsplit=1)[0]
    return any(word in words for room, words in STILL.items() if what.startswith(room))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def look_over() -> None: ...", 1),
        ("def work(beside: int) -> None: ...", 1),
        ("import json as crowd\n_told = 1\nself.twin = 2", 3),
        ("warn('an answer was told beside the gate')\nloading = settled = 1", 0),
    ],
)
def test_sees_a_retired_name(source: str, count: int) -> None:
    """Planted: definitions, arguments, variables and aliases are seen; words in text are not."""
    tree = ast.parse(source)
    assert len(list(retired(HOUSE / "tests" / "x.py", tree))) == count
    assert len(list(retired(HOUSE / "tests" / "test_gate.py", tree))) == count + 1


def test_every_module_says_what_it_is() -> None:
    """Each module begins with a docstring that is a sentence or more."""
    silent = [
        name_of(path)
        for path in sources(*ROOMS, "tests", "docs", "examples")
        if path.stat().st_size
        and len(re.findall(r"\w+", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")) < 3
    ]
    assert silent == []


def test_every_package_gives_the_order_of_reading() -> None:
    """A package's docstring names each of its modules, but for one a mechanism or a command."""
    missing = []
    for path in sources(*ROOMS):
        if path.name != "__init__.py" or path.parent.name in {"mechanisms", "commands", "cli"}:
            continue
        said = set(re.findall(r"\w+", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""))
        modules = {one.stem for one in path.parent.glob("*.py")}
        packages = {one.parent.name for one in path.parent.glob("*/__init__.py")}
        unnamed = {name for name in modules | packages if not name.startswith("__")} - said
        if unnamed:
            missing.append(f"{name_of(path.parent)}: {', '.join(sorted(unnamed))}")
    assert missing == []


def test_glossary_has_what_took_over() -> None:
    """Each name that a retired one gave way to stands in the glossary of CONTRIBUTING.md."""
    glossary = (HOUSE / "CONTRIBUTING.md").read_text("utf-8").partition("## Words of the code")[2]
    names = {
        name
        for words in (*MODULES.values(), *IDENTIFIERS.values())
        for name in words.split(", ")
        if "_" in name or name[0].isupper()
    }
    assert {name for name in names if name not in glossary} <= {"population_tally"}
