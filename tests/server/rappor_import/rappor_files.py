"""RAPPOR's files for the tests: good ones, cases of Google's own programs, words that name them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rumor_server.rappor_import.analysis import ImportedEstimates, import_rappor

DATA = Path(__file__).parents[2] / "data" / "rappor"
VECTORS = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))
THEIRS = VECTORS["their_tests"]
R = VECTORS["r_analysis"]

PARAMS = "k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\n"
COUNTS = "1000,400,450,500,550\n900,400,380,420,460\n"
MAP = "a,1,2,5,6\nb,3,4,7,8\nc,1,3,5,7\n"


def as_csv(params: dict[str, Any]) -> str:
    """Return a file of parameters."""
    return f"k,h,m,p,q,f\n{','.join(str(params[key]) for key in 'khmpqf')}\n"


def table_csv(rows: list[list[Any]]) -> str:
    """Return rows as CSV."""
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def decoded(words: list[str], **options: Any) -> ImportedEstimates:
    """Decode the files that words of the command name."""
    paths = dict(zip(words[1::2], words[2::2], strict=True))
    return import_rappor(paths["--params"], paths["--counts"], paths.get("--map"), **options)[0]


def case(name: str, *options: str) -> list[str]:
    """Return the command's words for a case."""
    files = [f"--{part}={DATA / name / part}.csv" for part in ("params", "counts", "map")]
    return ["rappor", *files, *options]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., list[str]]:
    """Write the three files, good ones where no other text is given; return the command's words."""

    def write(params: str = PARAMS, counts: str = COUNTS, map_: str | None = MAP) -> list[str]:
        words = ["rappor"]
        for name, text in (("params", params), ("counts", counts), ("map", map_)):
            if text is not None:
                path = tmp_path / f"{name}.csv"
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
                words += [f"--{name}", str(path)]
        return words

    return write
