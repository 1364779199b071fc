"""Bit order on the wire: little-endian within a byte, padding clear, length fixed."""

from __future__ import annotations

import pytest
from bitarray import bitarray

from rumor_shared.bits import check_bits, decode_bits, encode_bits, payload_length
from rumor_shared.errors import MalformedPayload


@pytest.mark.parametrize("k", range(1, 18))
def test_every_single_bit_comes_back(k: int) -> None:
    """Each single bit of each width decodes to itself and agrees with bitarray (EN-03)."""
    for bit in range(k):
        payload = encode_bits(1 << bit, k)
        assert decode_bits(payload, k) == 1 << bit
        reference = bitarray(k, endian="little")
        reference.setall(0)
        reference[bit] = 1
        assert payload == reference.tobytes()


def test_golden_bytes() -> None:
    """Bit 0 of eleven is the byte pair 01 00."""
    assert encode_bits(1, 11) == bytes([1, 0])


@pytest.mark.parametrize("bits", [0, 8, 17, 24])
def test_other_widths_are_refused_with_both_widths(bits: int) -> None:
    """A vector of another width is refused, naming expected and received size (EN-02)."""
    payload = encode_bits(0, bits)
    with pytest.raises(
        MalformedPayload, match=rf"{payload_length(bits)} bytes; 16 bits.*exactly 2"
    ):
        check_bits(payload, 16)


@pytest.mark.parametrize("k", [1, 3, 7, 9, 11, 15])
def test_padding_must_be_clear(k: int) -> None:
    """A set padding bit is refused, each one of them."""
    for bit in range(k, payload_length(k) * 8):
        with pytest.raises(MalformedPayload, match="padding bit"):
            check_bits(encode_bits(1 << bit, payload_length(k) * 8), k)
