"""The decoders that take bytes from outside, each as a function that may end only as documented.

A target returns, or raises one of its documented errors, which is caught here; whatever else comes
out of it is a finding. `seeds` are valid inputs, from which a fuzzer goes on.
"""

import asyncio
import gzip
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.types import Message
from tests.harness.collector import REGISTRY

from rumor_server.errors import BadRequest
from rumor_server.http.body import read_body
from rumor_server.http.candidates import read_candidates
from rumor_server.http.problem import status_of
from rumor_server.ingestion.batch import Batch, RetractionBatch, decode_batch, decode_retractions
from rumor_server.rappor_import.files import RapporFileError, RapporParams, read_counts, read_params
from rumor_server.rappor_import.map import read_map
from rumor_server.storage.tally_file import FORMAT, TallyFileError, read_tallies
from rumor_shared.errors import RegistryError
from rumor_shared.registry import parse_registry
from rumor_shared.wire import JSON, MAX_BATCH_BYTES, MSGPACK

FOUND = Path(__file__).with_name("found")
# A refusal is an answer to a stranger, and no echo.
_LONGEST_DETAIL = 300
_STATUSES = {400, 413}


@dataclass(frozen=True)
class Target:
    """Bytes go into `run`; `seeds` are some that it takes, `words` what they are made of."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]


def _refused(decode: Callable[[], object]) -> None:
    try:
        decode()
    except BadRequest as error:
        if status_of(error) not in _STATUSES or len(error.detail) > _LONGEST_DETAIL:
            raise


def _batch(media_type: str, data: bytes) -> None:
    _refused(lambda: decode_batch(data, media_type))


def _retractions(media_type: str, data: bytes) -> None:
    _refused(lambda: decode_retractions(data, media_type))


def _body(data: bytes) -> None:
    """The first byte says whether it is gzip, and into how large chunks it is cut."""
    step = 1 + (data[0] >> 1) ** 2 if data else 1
    headers = {"content-encoding": "gzip"} if data and data[0] & 1 else {}

    def read() -> None:
        receive = _received(data[1:], step)
        assert len(asyncio.run(read_body(receive, headers, 5))) <= MAX_BATCH_BYTES

    _refused(read)


def _candidates(data: bytes) -> None:
    """`POST /v1/metrics/{metric}/estimates`."""
    scope = {"type": "http", "headers": [(b"content-type", JSON.encode())]}

    def read() -> None:
        asyncio.run(read_candidates(Request(scope, _received(data, 1000)), 5))

    _refused(read)


def _received(data: bytes, step: int) -> Callable[[], Any]:
    parts = [data[i : i + step] for i in range(0, len(data), step)] or [b""]
    coming = iter(
        {"type": "http.request", "body": part, "more_body": number + 1 < len(parts)}
        for number, part in enumerate(parts)
    )

    async def receive() -> Message:
        return next(coming)

    return receive


def _registry(data: bytes) -> None:
    try:
        parse_registry(data)
    except RegistryError as error:
        if not error.problems:
            raise


def _file(read: Callable[[Path], object], errors: type[Exception], data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            read(Path(file.name))
        except errors:
            return


def _tallies_header(data: bytes) -> None:
    """A file whose arrays are whole, and whose header is anything."""
    with io.BytesIO() as made:
        counts = np.ones((1, 3), dtype=np.int64)
        header = np.frombuffer(data, dtype=np.uint8)
        np.savez(made, header=header, reports_0=counts[:, 0], counts_0=counts)
        _file(read_tallies, TallyFileError, made.getvalue())


def _tallies_file() -> bytes:
    with io.BytesIO() as made:
        counts = np.ones((1, 3), dtype=np.int64)
        header = np.frombuffer(_HEADER, dtype=np.uint8)
        np.savez_compressed(made, header=header, reports_0=counts[:, 0], counts_0=counts)
        return made.getvalue()


_REPORT = {
    "id": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "metric": "theme",
    "revision": 1,
    "cohort": 17,
    "payload": "AQ==",
}
_ENVELOPE = {"sdk": "x/1", "day": "2026-11-30", "pseudonym": "MDEyMzQ1Njc4OWFiY2RlZg=="}
_BATCH = json.dumps(_ENVELOPE | {"reports": [_REPORT]}, separators=(",", ":")).encode()
_RETRACTION = json.dumps(_ENVELOPE | {"retractions": [_REPORT]}).encode()
_HEADER = json.dumps(
    {
        "format": FORMAT,
        "tallies": [
            {
                "metric": "theme",
                "revision": 1,
                "fingerprint": "0" * 64,
                "day": "2026-11-30",
                "sources": ["0" * 32],
            }
        ],
    }
).encode()
_FIELDS = tuple(f'"{name}":'.encode() for name in (*_ENVELOPE, *_REPORT, "reports", "retractions"))
_NAMES = tuple(name.encode() for name in (*_ENVELOPE, *_REPORT, "reports", "retractions"))
_WORDS = (*_FIELDS, b'"candidates":', b"2026-11-30", b"\\ud800", b"==", b"1e400", b"NaN")
_RAPPOR = RapporParams(4, 2, 2, Fraction(1, 4), Fraction(3, 4), Fraction(1, 2))
_NUMBERS = (b"1e+05", b"1e999", b"nan", b"inf", b'"', b"\r\n", b"-0", b",,")

TARGETS = {
    "batch-json": Target(partial(_batch, JSON), (_BATCH,), _WORDS),
    "batch-msgpack": Target(
        partial(_batch, MSGPACK),
        (msgspec.msgpack.encode(msgspec.json.decode(_BATCH, type=Batch)),),
        _NAMES,
    ),
    "retractions-json": Target(partial(_retractions, JSON), (_RETRACTION,), _WORDS),
    "retractions-msgpack": Target(
        partial(_retractions, MSGPACK),
        (msgspec.msgpack.encode(msgspec.json.decode(_RETRACTION, type=RetractionBatch)),),
        _NAMES,
    ),
    "body": Target(
        _body,
        (
            b"\x20" + _BATCH,
            b"\x21" + gzip.compress(_BATCH, mtime=0),
            b"\xff" + gzip.compress(bytes(3 * MAX_BATCH_BYTES), mtime=0),
        ),
        (gzip.compress(b"", mtime=0), b"\x1f\x8b\x08"),
    ),
    "candidates": Target(_candidates, (b'{"candidates":["a","b"]}',), _WORDS),
    "registry": Target(
        _registry,
        (REGISTRY.encode(),),
        (b"[metrics.", b'"oue"', b'"cms"', b'"pgr"', b"1e99", b"inf", b"nan", b"[[", b"{", b"'''"),
    ),
    "rappor-params": Target(
        partial(_file, read_params, RapporFileError),
        (b"k,h,m,p,q,f\n4,2,2,0.25,0.75,0.5\n",),
        _NUMBERS,
    ),
    "rappor-counts": Target(
        partial(_file, lambda path: read_counts(path, _RAPPOR), RapporFileError),
        (b"1000,400,450,500,550\n900,400,380,420,460\n",),
        _NUMBERS,
    ),
    "rappor-map": Target(
        partial(_file, lambda path: read_map(path, _RAPPOR), RapporFileError),
        (b"a,1,2,5,6\nb,3,4,7,8\nc,1,3,5,7\n",),
        _NUMBERS,
    ),
    "tallies": Target(
        partial(_file, read_tallies, TallyFileError),
        (_tallies_file(),),
        (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY", b"'descr': '<i8'"),
    ),
    "tallies-header": Target(_tallies_header, (_HEADER,), (b'"sources":', b'"day":', b"null")),
}
