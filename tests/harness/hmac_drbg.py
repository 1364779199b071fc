"""HMAC_DRBG with SHA-256: the deterministic bit generator of NIST SP 800-90A, section 10.1.2.

Google's RAPPOR clients draw from it; Rumor reads the CSPRNG or SHAKE-256
(`rumor_client.perturbation.randomness`).
"""

from __future__ import annotations

import hashlib
import hmac

_OUTPUT_BYTES = 32


class HmacDrbg:
    """The bits that follow from `seed`: entropy, nonce and personalisation string, joined."""

    __slots__ = ("_key", "_value")

    def __init__(self, seed: bytes) -> None:
        self._key = bytes(_OUTPUT_BYTES)
        self._value = b"\x01" * _OUTPUT_BYTES
        self._update(seed)

    def generate(self, size: int) -> bytes:
        """Return the answer to one request for `size` bytes; the next request goes on from there.

        How a stream is split into requests changes its bytes.
        """
        stream = bytearray()
        while len(stream) < size:
            self._value = self._hmac(self._value)
            stream += self._value
        self._update(b"")
        return bytes(stream[:size])

    def _update(self, data: bytes) -> None:
        for round_byte in (b"\x00", b"\x01") if data else (b"\x00",):
            self._key = self._hmac(self._value + round_byte + data)
            self._value = self._hmac(self._value)

    def _hmac(self, message: bytes) -> bytes:
        return hmac.digest(self._key, message, hashlib.sha256)
