"""Rows to files: Parquet for programs, CSV for everyone."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any


class TableFormat(StrEnum):
    """How results are written."""

    PARQUET = "parquet"
    CSV = "csv"


def write_table(rows: Sequence[dict[str, Any]], folder: Path, name: str, kind: TableFormat) -> Path:
    """Write rows of equal keys to `folder`/`name`.parquet or .csv, and return the path."""
    path = folder / f"{name}.{kind}"
    if kind is TableFormat.CSV:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path
    import pyarrow  # heavy, and only wanted where a table is written
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path
