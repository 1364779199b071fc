"""Read RAPPOR's map of candidates to Bloom bits, a million rows at a time if need be.

A map of 10^6 candidates with 64 cohorts and two hashes is 128 million indices: they are kept as
bits within their cohort, in the narrowest integers that hold one (a byte while k <= 256).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from rumor_server.rappor_import.files import (
    NO_ROW_NAMES,
    FilePath,
    RapporFileError,
    RapporParams,
    read_rows,
)

# Indices parsed at once: as Python strings and 64-bit integers they take some 35 MB.
_BLOCK_INDICES = 1 << 18

_BLANK = -(2**63)
_TOO_LARGE = 2**63

Row = tuple[int, list[str]]


@dataclass(frozen=True, eq=False)
class CandidateMap:
    """Candidates in the file's order, and the bits of each: (candidates, cohorts, hashes)."""

    values: tuple[str, ...]
    bits: NDArray[np.unsignedinteger]

    def positions(self, start: int, stop: int) -> NDArray[np.unsignedinteger]:
        """Return the bits of candidates start..stop-1, as the decoder asks for them."""
        return self.bits[start:stop]


def read_map(path: FilePath, params: RapporParams) -> CandidateMap:
    """Read the map: for each candidate h indices in each of m cohorts.

    The order of the indices in a row is free. Where two hashes of a cohort coincide, the index is
    repeated or left blank once: it is one bit. Raises RapporFileError.
    """
    kind = np.min_scalar_type(params.bits - 1)
    seen: dict[str, int] = {}
    packed = bytearray()
    rows = read_rows(path)
    step = max(1, _BLOCK_INDICES // (params.cohorts * params.hashes))
    while block := list(islice(rows, step)):
        for number, row in block:
            _check_row(path, number, row, params, seen)
        packed += _bits(path, block, params).astype(kind).tobytes()
    if not seen:
        raise RapporFileError(path, None, "is empty", "give a row for each candidate")
    shape = (len(seen), params.cohorts, params.hashes)
    return CandidateMap(tuple(seen), np.frombuffer(packed, dtype=kind).reshape(shape))


def _check_row(
    path: FilePath, number: int, row: list[str], params: RapporParams, seen: dict[str, int]
) -> None:
    value, *indices = row
    width = params.cohorts * params.hashes
    if len(indices) == width + 1 and not indices[0].isdigit() and indices[1].isdigit():
        raise RapporFileError(path, number, "begins with a row name", NO_ROW_NAMES)
    if len(indices) != width:
        raise RapporFileError(
            path,
            number,
            f"has {len(indices)} indices, not m x h = {params.cohorts} x {params.hashes}",
            "give a candidate and its indices, separated by commas",
        )
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RapporFileError(path, number, "is not UTF-8", "save the file as UTF-8")
    first = seen.setdefault(value, number)
    if first != number:
        raise RapporFileError(path, number, f"repeats the candidate of row {first}", "remove one")


def _bits(path: FilePath, block: list[Row], params: RapporParams) -> NDArray[np.int64]:
    """Return the bits of a block's rows within their cohorts, (rows, cohorts * hashes)."""
    cohorts, hashes, k = params.cohorts, params.hashes, params.bits
    indices = _indices(path, block, cohorts * hashes)
    outside = ((indices < 1) | (indices > cohorts * k)) & (indices != _BLANK)
    if outside.any():
        raise RapporFileError(
            path,
            block[int(outside.any(axis=1).argmax())][0],
            f"has an index outside 1 to m x k = {cohorts * k}",
            "count from 1: an index is cohort * k + bit + 1",
        )
    owners = np.repeat(np.arange(cohorts), hashes)
    for unordered in np.flatnonzero(((indices - 1) // k != owners).any(axis=1)).tolist():
        filled = _by_cohort(indices[unordered], params)
        if filled is None:
            raise RapporFileError(
                path,
                block[unordered][0],
                f"has a cohort without an index, or with more than h = {hashes}",
                "give each cohort one for every hash; of two that coincide one may be left blank",
            )
        indices[unordered] = filled
    return (indices - 1) % k


def _by_cohort(row: NDArray[np.int64], params: RapporParams) -> NDArray[np.int64] | None:
    """Return a row's indices cohort by cohort, a blank filled with another of its cohort's.

    None where a cohort has no index or too many.
    """
    given = np.sort(row[row != _BLANK])
    found = np.bincount((given - 1) // params.bits, minlength=params.cohorts)
    if found.min() < 1 or found.max() > params.hashes:
        return None
    starts = np.cumsum(found) - found
    within = np.minimum(np.arange(params.hashes), found[:, None] - 1)
    return np.asarray(given[starts[:, None] + within]).ravel()


def _indices(path: FilePath, block: list[Row], width: int) -> NDArray[np.int64]:
    shape = (len(block), width)
    try:
        texts = chain.from_iterable(row[1:] for _, row in block)
        indices = np.fromiter(map(int, texts), dtype=np.int64, count=len(block) * width)
        if indices.min() > _BLANK:
            return indices.reshape(shape)
    except (ValueError, OverflowError):
        pass  # blanks, or what is no index: told apart row by row
    given = chain.from_iterable(_with_blanks(path, number, row) for number, row in block)
    return np.fromiter(given, dtype=np.int64, count=len(block) * width).reshape(shape)


def _with_blanks(path: FilePath, number: int, row: list[str]) -> list[int]:
    """Return the indices of a row, _BLANK for one that is left out."""
    try:
        given = [int(text) for text in row[1:] if text]
    except ValueError:
        if number == 1 and not any(text.isdigit() for text in row):
            raise RapporFileError(path, number, "is a header", "remove it") from None
        given = [_TOO_LARGE]
    if not all(abs(index) < _TOO_LARGE for index in given):
        raise RapporFileError(path, number, "has an index that is no whole number", "correct it")
    return given + [_BLANK] * (len(row) - 1 - len(given))
