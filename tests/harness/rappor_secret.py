"""What Google's RAPPOR clients derive from a device's secret: its cohort and permanent answers.

    client         byte i of the stream decides Bloom bit i                cohort
    python         HMAC-SHA256(secret, BE32(bloom))                        given to it
    cpp, k <= 32   HMAC-SHA256(secret, 01 || encoder id || BE32(bloom))    HMAC-SHA256(secret, "")
    cpp, k > 32    HMAC_DRBG(secret || 01 || encoder id || bloom as k/8    HMAC_DRBG(secret)
                   bytes, big-endian)
    java           HMAC_DRBG(secret || 01 || 19 bytes of SHA-256(          HMAC_DRBG(secret || 00)
                   encoder id || 00 || bloom, little-endian, shortest
                   || 01 || 19 times 00))

    There is noise iff (byte >> 1) < 128 f. The permanent bit is byte & 1 where there is, else the
    Bloom bit.

Rumor's own device pipeline does not read these streams. Two answers that share one and differ in f
are the same coins against two thresholds: a 1 under the small f beside a 0 under the large one
gives the Bloom bit away with certainty. Python's stream does not tell metrics apart and no
client's tells revisions apart, so a device secret used for both would break the sum in the ledger.
Source: google/rappor at a13fa964 (2017), client/python, client/cpp, client/java.
"""

from __future__ import annotations

import hashlib
import hmac
import io

from tests.harness.hmac_drbg import HmacDrbg

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.rappor_md5 import RapporClient

# One byte of a SHA-256 for each Bloom bit.
MAX_HMAC_BITS = 32
_COHORT = b"\x00"
_PERMANENT = b"\x01"
# Encoder.MAX_COHORTS and the limits of HmacDrbg.java.
_JAVA_COHORTS = 128
_JAVA_PERSONALISATION_BYTES = 20
_JAVA_REQUEST_BYTES = 937


def permanent_stream(
    client: RapporClient, secret: bytes, encoder_id: str, bloom: int, bits: int
) -> Randomness:
    """Return the chance by which `client` answers the filter `bloom` permanently.

    Python has no encoder id. Raises ValueError for `exact`, which is no program, and for a filter
    that the client can't fill.
    """
    name = encoder_id.encode("utf-8", "strict")
    match client:
        case RapporClient.PYTHON if bits <= MAX_HMAC_BITS:
            stream = _hmac(secret, bloom.to_bytes(4, "big"))
        case RapporClient.CPP if bits <= MAX_HMAC_BITS:
            stream = _hmac(secret, _PERMANENT + name + bloom.to_bytes(4, "big"))
        case RapporClient.CPP if bits % 8 == 0:
            filled = bloom.to_bytes(bits // 8, "big")
            stream = HmacDrbg(secret + _PERMANENT + name + filled).generate(bits)
        case RapporClient.JAVA:
            stream = _java_stream(secret + _java_personalisation(name, bloom), bits)
        case _:
            raise ValueError(f"no client named {client} answers permanently in {bits} bits")
    return Randomness(io.BytesIO(stream).read)


def cohort_of_secret(client: RapporClient, secret: bytes, cohorts: int, bits: int) -> int:
    """Return the cohort in which `client` puts the device with this secret.

    `cohorts` is a power of two; `bits` decides how a C++ client hashes. Raises ValueError for the
    clients that don't derive it: Python is given its cohort.
    """
    match client:
        case RapporClient.CPP:
            hashed = _hmac(secret, b"") if bits <= MAX_HMAC_BITS else HmacDrbg(secret).generate(32)
            master = int.from_bytes(hashed[:4], "little")
        case RapporClient.JAVA:
            drawn = int.from_bytes(HmacDrbg(secret + _COHORT).generate(4), "big", signed=True)
            master = abs(drawn) % _JAVA_COHORTS
        case _:
            raise ValueError(f"the {client} client does not derive its cohort from a secret")
    return master & (cohorts - 1)


def _hmac(secret: bytes, message: bytes) -> bytes:
    return hmac.digest(secret, message, hashlib.sha256)


def _java_personalisation(name: bytes, bloom: int) -> bytes:
    filled = bloom.to_bytes((bloom.bit_length() + 7) // 8, "little")
    # Java hands the buffer it fills to `digest` as a last input, the type byte already in it.
    buffer = _PERMANENT.ljust(_JAVA_PERSONALISATION_BYTES, b"\x00")
    return (_PERMANENT + hashlib.sha256(name + b"\x00" + filled + buffer).digest())[
        :_JAVA_PERSONALISATION_BYTES
    ]


def _java_stream(seed: bytes, size: int) -> bytes:
    generator = HmacDrbg(seed)
    stream = bytearray()
    while len(stream) < size:
        stream += generator.generate(min(_JAVA_REQUEST_BYTES, size - len(stream)))
    return bytes(stream)
