"""Read the three files of Google's RAPPOR analysis: parameters, counts and map.

    params.csv   header k,h,m,p,q,f and one row
    counts.csv   no header; one row a cohort: reports, then how often each of k bits was set
    map.csv      no header; a candidate, then h indices for each of m cohorts: cohort * k + bit + 1

Whatever is wrong is said with the file's name, the row and the cause.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rumor_shared.errors import RumorError
from rumor_shared.mechanism import MAX_CELLS
from rumor_shared.rappor_md5 import RapporClient, effective_f

FilePath = str | os.PathLike[str]
Integers = NDArray[np.int64]

COLUMNS = ("k", "h", "m", "p", "q", "f")
# Beyond it a float64 no longer tells two counts apart.
MAX_COUNT = 2**53
# Finer than any client's random numbers; longer ones would only slow exact arithmetic.
_MAX_DIGITS = 64
# How UTF-16 begins, read as UTF-8 with its wrong bytes kept; without its mark, digits alternate
# with zeros.
_UTF_16 = ("\udcff\udcfe", "\udcfe\udcff")
NO_ROW_NAMES = "write it without them: in R, row.names = FALSE"


class RapporFileError(RumorError, ValueError):
    """A file of RAPPOR's can't be used: `path`, `row` (None for the whole file), what and the fix.

    `row` counts lines from 1, the header among them.
    """

    def __init__(self, path: FilePath, row: int | None, what: str, fix: str) -> None:
        self.path = os.fspath(path)
        self.row = row
        self.what = what
        self.fix = fix
        where = self.path if row is None else f"{self.path}, row {row}"
        super().__init__(f"{where}: {what}; {fix}")


@dataclass(frozen=True)
class RapporParams:
    """RAPPOR's parameters as configured: `bits` k, `hashes` h, `cohorts` m, and p, q, f."""

    bits: int
    hashes: int
    cohorts: int
    p: Fraction
    q: Fraction
    f: Fraction

    def rates(self, client: RapporClient) -> tuple[Fraction, Fraction]:
        """Return q* and p*: how often a bit is reported whose Bloom bit is 1, and is 0.

        With the f that `client` really has: f/2 (p + q) + (1 - f) q, or p in place of the last q.
        """
        f = effective_f(self.f, client)
        noise = f / 2 * (self.p + self.q)
        return noise + (1 - f) * self.q, noise + (1 - f) * self.p


@dataclass(frozen=True, eq=False)
class RapporCounts:
    """Counts int64 (cohorts, bits) and reports int64 (cohorts,).

    `surplus` is how many columns of zeros followed those of the bits.
    """

    reports: Integers
    counts: Integers
    surplus: int


def read_rows(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that isn't blank with its number. Raises RapporFileError."""
    try:
        # A byte that is no UTF-8 is kept as a surrogate, so that its row can be named.
        with open(  # noqa: PTH123 - also takes a descriptor's path
            path, encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as file:
            reader = csv.reader(file, strict=True)
            try:
                for row in reader:
                    if reader.line_num == 1 and row:
                        _check_encoding(path, row)
                    if row:
                        yield reader.line_num, row
            except csv.Error as error:
                raise RapporFileError(
                    path, reader.line_num, f"is not CSV ({error})", "check its quotes"
                ) from None
    except OSError as error:
        raise RapporFileError(
            path, None, f"can't be read ({error.strerror})", "check the path"
        ) from None


def _check_encoding(path: FilePath, first: list[str]) -> None:
    """Raise RapporFileError for UTF-16, which Excel and Windows' shells write."""
    if first[0].startswith(_UTF_16) or any("\0" in text for text in first):
        raise RapporFileError(path, None, "is UTF-16", "save it as UTF-8, or as CSV UTF-8")


def read_params(path: FilePath) -> RapporParams:
    """Read the parameters. The columns may come in any order. Raises RapporFileError."""
    rows = list(islice(read_rows(path), 3))
    if not rows:
        raise RapporFileError(path, None, "is empty", f"give the header {','.join(COLUMNS)}")
    number, header = rows[0]
    names = [name.strip() for name in header]
    if names[1:] and names[0] == "" and sorted(names[1:]) == sorted(COLUMNS):
        raise RapporFileError(path, number, "begins with a column of row names", NO_ROW_NAMES)
    if sorted(names) != sorted(COLUMNS):
        raise RapporFileError(
            path, number, "is not the header", f"name the columns {','.join(COLUMNS)}, each once"
        )
    if len(rows) == 1:
        raise RapporFileError(path, None, "has no row of parameters", "add it below the header")
    if len(rows) > 2:
        raise RapporFileError(path, rows[2][0], "is one too many", "keep one row of parameters")
    number, row = rows[1]
    if len(row) != len(names):
        raise RapporFileError(path, number, f"has {len(row)} columns, not 6", "give all six")
    texts = dict(zip(names, row, strict=True))
    bits, hashes, cohorts = (_whole(path, number, key, texts[key]) for key in ("k", "h", "m"))
    if hashes > bits:
        raise RapporFileError(path, number, f"h = {hashes} is above k = {bits}", "correct one")
    if bits * cohorts > MAX_CELLS:
        raise RapporFileError(path, number, f"k x m passes {MAX_CELLS} cells", "correct k or m")
    p, q, f = (_share(path, number, key, texts[key]) for key in ("p", "q", "f"))
    return RapporParams(bits, hashes, cohorts, p, q, f)


def read_counts(path: FilePath, params: RapporParams) -> RapporCounts:
    """Read the counts of m cohorts and k bits. Raises RapporFileError.

    Columns of zeros behind the last bit are accepted: reports wider than k with nothing in them.
    """
    table: list[list[int]] = []
    surplus = 0
    for number, row in read_rows(path):
        _check_counts_name(path, number, row, params, len(table))
        counts = _count_row(path, number, row, first=not table)
        if len(table) == params.cohorts:
            raise RapporFileError(
                path,
                number,
                f"is beyond the m = {params.cohorts} cohorts",
                "correct m, or remove it",
            )
        if len(counts) <= params.bits:
            raise RapporFileError(
                path,
                number,
                f"has {len(counts)} columns; k = {params.bits} needs {params.bits + 1}",
                "give the number of reports, then a column for each bit, separated by commas",
            )
        reports, bits, rest = counts[0], counts[1 : params.bits + 1], counts[params.bits + 1 :]
        if any(rest):
            raise RapporFileError(
                path,
                number,
                f"counts a bit beyond the k = {params.bits} bits of the parameters",
                "correct k: the reports are wider",
            )
        if max(bits) > reports:
            raise RapporFileError(
                path,
                number,
                f"sets bit {bits.index(max(bits))} more often than the cohort has reports",
                "put the number of reports in the first column",
            )
        surplus = max(surplus, len(rest))
        table.append(counts[: params.bits + 1])
    if not table:
        raise RapporFileError(path, None, "is empty", "give a row for each cohort")
    if len(table) < params.cohorts:
        raise RapporFileError(
            path,
            None,
            f"has {len(table)} rows; m = {params.cohorts} needs one for each cohort",
            "add the missing rows (zeros where a cohort has no reports), or correct m",
        )
    counted = np.array(table, dtype=np.int64)
    return RapporCounts(counted[:, 0], counted[:, 1:], surplus)


def _check_counts_name(
    path: FilePath, number: int, row: list[str], params: RapporParams, cohort: int
) -> None:
    """Raise RapporFileError for a row name, unless the row is as sound without being one."""
    if len(row) != params.bits + 2 or not all(_is_number(text) for text in row[1:]):
        return
    name = row[0].strip()
    is_next = _is_number(name) and Decimal(name) == cohort + 1
    # A last column of zeros is one bit that nobody has set, and what stands first are reports.
    if not _is_number(name) or (is_next and Decimal(row[-1].strip()) != 0):
        raise RapporFileError(path, number, "begins with a row name", NO_ROW_NAMES)


def _count_row(path: FilePath, number: int, row: list[str], *, first: bool) -> list[int]:
    try:
        return [_count(text) for text in row]
    except ValueError as error:
        if first and len(row) > 1 and not any(_is_number(text) for text in row):
            raise RapporFileError(
                path, number, "is a header", "remove it: the file starts with the first cohort"
            ) from None
        raise RapporFileError(path, number, str(error), "give whole numbers from 0") from None


def _count(text: str) -> int:
    """Return a whole number from 0, also one that R wrote as 1e+05. Raises ValueError."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError("has a column that is no number") from None
    if not value.is_finite() or not 0 <= value <= MAX_COUNT or value != int(value):
        raise ValueError("has a column that is no count")
    return int(value)


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _whole(path: FilePath, number: int, key: str, text: str) -> int:
    try:
        value = _count(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MAX_CELLS:
        raise RapporFileError(
            path, number, f"{key} is no whole number from 1", f"correct {key}"
        ) from None
    return value


def _share(path: FilePath, number: int, key: str, text: str) -> Fraction:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("nan")
    sane = value.is_finite() and len(text) <= _MAX_DIGITS and value.adjusted() >= -_MAX_DIGITS
    if not sane or not 0 <= value <= 1:
        raise RapporFileError(
            path, number, f"{key} is no probability", f"give {key} from 0 to 1"
        ) from None
    return Fraction(value)
