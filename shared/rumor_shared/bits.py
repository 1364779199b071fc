"""Bit vectors on the wire: little-endian within a byte, padding bits zero.

Bit 0 is the least significant bit of the first byte, so the vector is also the little-endian
integer of its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from rumor_shared.errors import MalformedPayload


def payload_length(bits: int) -> int:
    """Return how many bytes carry `bits` bits."""
    return (bits + 7) // 8


def encode_bits(vector: int, bits: int) -> bytes:
    """Return the payload of a bit vector given as an integer below 2**bits."""
    return vector.to_bytes((bits + 7) // 8, "little")


def check_bits(payload: bytes, bits: int) -> None:
    """Raise MalformedPayload unless `payload` is a vector of exactly `bits` bits."""
    expected = (bits + 7) // 8
    if len(payload) != expected:
        raise MalformedPayload(
            f"the payload has {len(payload)} bytes; {bits} bits need exactly {expected}"
        )
    spare = -bits % 8
    if spare and payload[-1] >> (8 - spare):
        raise MalformedPayload(f"a padding bit beyond bit {bits - 1} is set")


def decode_bits(payload: bytes, bits: int) -> int:
    """Return the bit vector of a payload as an integer. Raises MalformedPayload."""
    check_bits(payload, bits)
    return int.from_bytes(payload, "little")


def set_bits(payload: bytes, bits: int, values: Sequence[str] | None = None) -> str:
    """Return which of `bits` bits are set, with the values they stand for where there are any."""
    found = [
        8 * at + bit
        for at, byte in enumerate(payload)
        if byte
        for bit in range(8)
        if byte >> bit & 1
    ]
    names = [f"{bit} ({values[bit]})" if values else str(bit) for bit in found]
    if not names:
        return f"no bit of {bits} set"
    return f"bit{'s' if len(names) > 1 else ''} {', '.join(names)} of {bits} set"
