"""Count files, lines and imports of the rooms, read from their source alone.

What each number means is the docstring of what counts it, so that a count before a change and one
after it are alike.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

HOUSE = Path(__file__).parents[2]
PLACES = ("shared", "client", "server", "simulations")
SMALL = 60


@dataclass(frozen=True)
class Source:
    """A source file of the house. `module` is its dotted name, without `__init__`."""

    path: Path
    module: str
    text: str = field(repr=False)

    @property
    def lines(self) -> int:
        """Lines, blank ones and comments too."""
        return self.text.count("\n")

    @property
    def room(self) -> str:
        """The package that it is installed under."""
        return self.module.partition(".")[0]

    @property
    def is_package(self) -> bool:
        """Whether it is the head of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)


def sources() -> list[Source]:
    """Return every Python file of the rooms."""
    found = []
    for place in PLACES:
        root = HOUSE / place
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append(Source(path, module, path.read_text("utf-8")))
    return found


def docstring_lines(source: Source) -> int:
    """Return how many lines docstrings of modules, classes and functions take."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    total = 0
    for node in ast.walk(source.tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            total += (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def imports(found: list[Source]) -> dict[str, set[str]]:
    """Return the modules of the rooms that each module imports, at its head, inside a function or
    for the type checker alone. `from package import module` is an import of that module, and not
    of the package; the import that Python makes of the packages above is none.
    """
    modules = {source.module for source in found}
    edges: dict[str, set[str]] = {}
    for source in found:
        targets = edges.setdefault(source.module, set())
        for node in ast.walk(source.tree):
            targets |= {name for name in _named(node, source, modules) if name != source.module}
    return edges


def _named(node: ast.AST, source: Source, modules: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = source.module.split(".")
            above = above[: len(above) - node.level + source.is_package]
            base = ".".join([*above, *([base] if base else [])])
        for alias in node.names:
            full = f"{base}.{alias.name}"
            if full in modules:
                yield full
            elif base in modules:
                yield base


def mutual(found: list[Source], *, modules_too: bool = False) -> list[tuple[str, str]]:
    """Return the pairs of packages that import each other.

    A package is a folder right below a room (`rumor_server.storage`); modules right below a room
    are left out, or with `modules_too` are each a package of their own. Rooms are a pair as well.
    """
    folders = {
        source.module for source in found if source.is_package and source.module.count(".") == 1
    }
    edges: set[tuple[str, str]] = set()
    for module, targets in imports(found).items():
        for target in targets:
            ends = [".".join(name.split(".")[:2]) for name in (module, target)]
            rooms = [name.partition(".")[0] for name in (module, target)]
            if rooms[0] != rooms[1]:
                edges.add((rooms[0], rooms[1]))
            elif ends[0] != ends[1] and (modules_too or folders.issuperset(ends)):
                edges.add((ends[0], ends[1]))
    return sorted((a, b) for a, b in edges if a < b and (b, a) in edges)


def mutual_below(found: list[Source]) -> list[tuple[str, str]]:
    """Return the pairs of neighbours in one folder, at any depth, that import each other: modules,
    and packages with all that is in them.
    """
    edges: set[tuple[str, str]] = set()
    for module, targets in imports(found).items():
        for target in targets:
            one, other = module.split("."), target.split(".")
            shared = next(
                (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None
            )
            if shared:
                edges.add((".".join(one[: shared + 1]), ".".join(other[: shared + 1])))
    return sorted((a, b) for a, b in edges if a < b and (b, a) in edges)


def asked_of_modules(found: list[Source], name: str) -> list[str]:
    """Return where `hasattr`, or `getattr` with a default, is called with a written-out attribute
    on something that isn't `os`, `self` or an error: parts of a mechanism that are looked for.
    """
    needed = {"hasattr": 2, "getattr": 3}[name]
    return [
        f"{source.module}:{node.lineno} {ast.unparse(node)}"
        for source in found
        for node in _calls(source, name)
        if len(node.args) == needed
        and isinstance(node.args[1], ast.Constant)
        and not ast.unparse(node.args[0]).startswith(("os", "self", "error"))
    ]


def casts(found: list[Source]) -> Counter[str]:
    """Return how often modules in a folder `mechanisms` call `typing.cast`, by module."""
    return Counter(
        source.module
        for source in found
        if "mechanisms" in source.path.parts
        for _ in _calls(source, "cast")
    )


def _calls(source: Source, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def lonely(found: list[Source]) -> list[str]:
    """Return the modules under 60 lines, no `__init__`, that exactly one other module imports."""
    importers: dict[str, set[str]] = {}
    for module, targets in imports(found).items():
        for target in targets:
            importers.setdefault(target, set()).add(module)
    return [
        source.module
        for source in found
        if source.lines < SMALL
        and not source.is_package
        and len(importers.get(source.module, ())) == 1
    ]


def one_a_mechanism(source: Source) -> bool:
    """Whether a file is one of those that a room has one of for each mechanism."""
    return source.path.parent.name == "mechanisms" and not source.is_package


def report(*, details: bool) -> Iterator[str]:
    """Yield a line for each number, and with `details` what it is made of."""
    found = sources()
    lines = sum(source.lines for source in found)
    small = [source for source in found if source.lines < SMALL]
    bare = [source for source in small if not source.is_package]
    words = sum(docstring_lines(source) for source in found)
    numbers: list[tuple[str, object, list[str]]] = [
        ("source files", len(found), []),
        ("source lines", lines, []),
        ("lines of docstrings", f"{words} ({100 * words / lines:.1f}%)", []),
        ("files under 60 lines", len(small), []),
        ("... without __init__", len(bare), [source.module for source in bare]),
        ("... of these one a mechanism", sum(map(one_a_mechanism, bare)), []),
    ]
    for name, pairs in (
        ("packages that import each other", mutual(found)),
        ("... each module below a room a package", mutual(found, modules_too=True)),
        ("neighbours at any depth that do", mutual_below(found)),
    ):
        numbers.append((name, len(pairs), [" and ".join(pair) for pair in pairs]))
    cast, alone = casts(found), lonely(found)
    asked = {name: asked_of_modules(found, name) for name in ("hasattr", "getattr")}
    numbers += [
        ("hasattr on modules", len(asked["hasattr"]), asked["hasattr"]),
        ("getattr with a default on modules", len(asked["getattr"]), asked["getattr"]),
        (
            "casts in mechanism modules",
            cast.total(),
            [f"{n} {module}" for module, n in cast.items()],
        ),
        ("small files with one importer", len(alone), alone),
    ]
    for name, number, parts in numbers:
        yield f"{name:40} {number}"
        if details:
            yield from (f"    {part}" for part in parts)
