"""What measures the house sees what it is to see, in a small house that was built for it."""

from pathlib import Path

import pytest
from tests.house import counts
from tests.house.walk import VALUE, Walk


def source(module: str, text: str = "", *, package: bool = False) -> counts.Source:
    """A source file that lies nowhere."""
    parts = module.split(".")
    path = Path(*parts, "__init__.py") if package else Path(*parts).with_suffix(".py")
    return counts.Source(path, module, text)


HOUSE = [source(name, package=True) for name in ("room", "room.a", "room.b", "room.c")]


@pytest.mark.parametrize(
    "back",
    [
        "from room.a import one\n",
        "import room.a.one\n",
        "from ..a.one import thing\n",
        "def later():\n    from room.a.one import thing\n",
        "if TYPE_CHECKING:\n    from room.a.one import Thing\n",
    ],
)
def test_sees_packages_that_import_each_other(back: str) -> None:
    """An import back is seen wherever it stands: a module's head, a function, for types alone."""
    there = source("room.a.one", "from room.b.two import x\nfrom room.c import three\n")
    house = [*HOUSE, there, source("room.b.two", back), source("room.c.three")]
    assert counts.mutual(house) == [("room.a", "room.b")]
    one_way = [*HOUSE, there, source("room.b.two", "import room.c\n"), source("room.c.three")]
    assert counts.mutual(one_way) == []


def test_finds_small_modules_with_one_importer() -> None:
    """Two importers, many lines, or none at all: only what one other module imports is named."""
    house = [
        source("room.one", "from room import two, three, four\n"),
        source("room.other", "from room.three import x\n"),
        source("room.two"),
        source("room.three"),
        source("room.four", "\n" * counts.SMALL),
    ]
    assert counts.lonely([*HOUSE, *house]) == ["room.two"]


def test_counts_docstrings_casts_and_questions_to_modules() -> None:
    """Docstrings are counted in lines, casts in mechanisms' folders alone, questions by name."""
    text = '"""One.\n\nTwo."""\n\ndef f():\n    """Three."""\n    cast(int, hasattr(m, "x"))\n'
    mechanism, other = source("room.mechanisms.krr", text), source("room.krr", text)
    assert counts.docstring_lines(mechanism) == 4
    assert counts.casts([mechanism, other]) == {"room.mechanisms.krr": 1}
    assert len(counts.asked_of_modules([mechanism, other], "hasattr")) == 2


def test_knows_the_forms_of_a_value() -> None:
    """A carrier holds the value through its fields and items; what is beside the way does not."""
    walk = Walk((frozenset,))
    walk.ids = {b"\xfb" * 16}
    for thing in ([("a", {"b": f"<{VALUE}>"})], b"\xfb" * 16, frozenset({VALUE}), object(), "else"):
        walk._look_at(thing)
    assert set(walk.forms) == {
        f"builtins.{name}" for name in ("str", "dict", "tuple", "list", "bytes")
    }
