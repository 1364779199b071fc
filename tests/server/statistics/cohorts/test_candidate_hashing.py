"""Hashes of candidates in numpy, against the contract's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor_server.statistics.cohorts.candidate_hashing import (
    CandidateError,
    hash_candidates,
    mix,
    positions,
    salts,
)
from rumor_server.statistics.cohorts.hash_table import hash_table
from rumor_shared import hashing

words = st.integers(0, 2**64 - 1)


@given(values=st.lists(words, min_size=1, max_size=20))
def test_mix_is_the_contracts(values: list[int]) -> None:
    """Every 64-bit word is mixed to the same word."""
    expected = [hashing.mix(value) for value in values]
    assert mix(np.array(values, dtype=np.uint64)).tolist() == expected


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True, max_size=8),
    key=words,
    cohorts=st.integers(1, 5),
    hashes=st.integers(1, 4),
    size=st.integers(1, hashing.MAX_SIZE),
)
def test_positions_are_the_contracts(
    texts: list[str], key: int, cohorts: int, hashes: int, size: int
) -> None:
    """Any text falls where the device says, in each cohort, for each hash and size."""
    known = hash_candidates(texts)
    found = positions(known.first, known.second, salts(key, cohorts, hashes), size)
    assert found.shape == (len(known.texts), cohorts, hashes)
    assert found.dtype == np.int64
    for i, text in enumerate(known.texts):
        value = hashing.hash_bytes(text.encode())
        for cohort in range(cohorts):
            wanted = hashing.positions(value, key, cohort, hashes, size)
            assert tuple(found[i, cohort]) == wanted


def test_many_values_fall_where_the_contract_says() -> None:
    """20,000 texts agree, and blocks of them as the whole."""
    known = hash_candidates(f"value {i}" for i in range(20_000))
    key = hashing.metric_key("browser", 3)
    salted = salts(key, 2, 2)
    found = positions(known.first, known.second, salted, 128)
    part = positions(known.first[100:200], known.second[100:200], salted, 128)
    np.testing.assert_array_equal(found[100:200], part)
    for i in range(0, 20_000, 7):
        value = hashing.hash_bytes(known.texts[i].encode())
        assert tuple(found[i, 1]) == hashing.positions(value, key, 1, 2, 128)


def test_the_last_cohort_of_the_largest_registry() -> None:
    """Cohort 255, hash 255 and the largest size do not overflow."""
    known = hash_candidates(["x"])
    salted = salts(2**64 - 1, 256, 256)
    found = positions(known.first, known.second, salted, hashing.MAX_SIZE)
    value = hashing.hash_bytes(b"x")
    wanted = hashing.position(value, hashing.salt(2**64 - 1, 255, 255), hashing.MAX_SIZE)
    assert found[0, 255, 255] == wanted


@pytest.mark.parametrize("size", [1, 2, 4, 5, 256, 257, hashing.MAX_SIZE])
def test_hash_table_is_the_contracts(size: int) -> None:
    """Every value of a domain is where the device says in each cohort, powers of two or not."""
    # 16 cohorts are worked out at once for these many values: 37 leave a remainder.
    values = tuple(f"value {i}" for i in range(1000))
    table = hash_table(2**64 - 1, 37, size, values)
    assert table.dtype == np.min_scalar_type(size - 1)
    assert not table.flags.writeable
    salted = [hashing.salt(2**64 - 1, cohort, 0) for cohort in range(37)]
    hashed = [hashing.hash_bytes(value.encode()) for value in values]
    wanted = [[hashing.position(value, salt, size) for value in hashed] for salt in salted]
    np.testing.assert_array_equal(table, wanted)


def test_candidates_are_normalised_and_kept_once() -> None:
    """A decomposed text is its composed form, and the first mention keeps its place."""
    known = hash_candidates(["b", "cafe\u0301", "a", "caf\u00e9", "b"])
    assert known.texts == ("b", "caf\u00e9", "a")
    assert len(known.first) == 3
    assert hash_candidates([]).texts == ()


@pytest.mark.parametrize("bad", ["\ud800", "x" * 4097])
def test_a_text_that_no_device_could_record_is_refused(bad: str) -> None:
    """A lone surrogate or an over-long text is named by its place, never repeated."""
    with pytest.raises(CandidateError, match=r"candidates\[1\]") as refused:
        hash_candidates(["fine", bad])
    assert refused.value.index == 1
    assert bad not in str(refused.value)
