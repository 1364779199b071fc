"""The CSV of estimates as pandas, polars and DuckDB read it with their defaults."""

import io
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from tests.harness.collector import batch, collector, report

_MANY = 40


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The CSV of a metric with a significant and an insignificant value, and one without data."""
    with collector(tmp_path_factory.mktemp("csv") / "rumor.sqlite3") as running:
        for _ in range(_MANY):
            running.send(batch(report()))
        found = {}
        for metric in ("theme", "old"):
            url = f"/v1/metrics/{metric}/estimates?format=csv"
            found[metric] = running.client.get(url).text
        return found


def test_pandas_reads_booleans(texts: dict[str, str]) -> None:
    """pandas: bool where there is data, and missing where there is none."""
    assert pd.read_csv(io.StringIO(texts["theme"]))["significant"].dtype == bool
    assert pd.read_csv(io.StringIO(texts["old"]))["significant"].isna().all()


def test_polars_reads_booleans(texts: dict[str, str]) -> None:
    """polars: Boolean, and null where there is none."""
    frame = pl.read_csv(texts["theme"].encode())
    assert frame.schema["significant"] == pl.Boolean
    assert frame["significant"].to_list() == [False, True, False]
    assert frame.schema["frequency"] == pl.Float64
    assert pl.read_csv(texts["old"].encode())["significant"].null_count() == 2


def test_duckdb_reads_booleans(texts: dict[str, str], tmp_path: Path) -> None:
    """DuckDB: BOOLEAN and DOUBLE."""
    file = tmp_path / "theme.csv"
    file.write_text(texts["theme"], "utf-8", newline="")
    with duckdb.connect() as connection:
        read = connection.read_csv(str(file))
        kinds = dict(zip(read.columns, map(str, read.types), strict=True))
        rows = read.project("value, significant").fetchall()
    assert (kinds["significant"], kinds["std_error"]) == ("BOOLEAN", "DOUBLE")
    assert rows == [("light", False), ("dark", True), ("system", False)]
