"""Read what a device sends from its bytes, strictly: every field, once, of its type, and no other.

msgspec refuses unknown fields, wrong types, numbers out of range, lone surrogates and trailing
bytes, and builds no number larger than it may keep. It lets two things pass: a repeated key, and
base64 with stray bits in its last digit. Both vanish when the batch is written out again, so a
body that equals its own re-encoding is free of them (one comparison, the way our client writes);
any other body is walked once more by the standard library.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import date
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
from msgspec import Meta

from rumor_server.errors import BadRequest, TooLarge, UnsupportedMedia
from rumor_shared.days import parse_day
from rumor_shared.mechanism import MAX_PAYLOAD_BYTES
from rumor_shared.metric import MAX_NAME, MAX_REVISION
from rumor_shared.wire import ID_BYTES, JSON, MAX_BATCH_REPORTS, MSGPACK, PSEUDONYM_BYTES

Id = Annotated[
    bytes, Meta(min_length=ID_BYTES, max_length=ID_BYTES, description="128 random bits, made once")
]
# A cohort is below 2**22 (the cells of a tally); the store's column holds what a revision needs.
Cohort = Annotated[int, Meta(ge=0, le=MAX_REVISION, description="0 where the metric has none")]


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One perturbed answer."""

    id: Id
    metric: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    revision: Annotated[int, Meta(ge=1, le=MAX_REVISION)]
    cohort: Cohort
    payload: Annotated[
        bytes, Meta(max_length=MAX_PAYLOAD_BYTES, description="laid out as the mechanism says")
    ]


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said once for all that one device sends of one UTC day."""

    # `$` would let a line end follow; what nothing may follow means the same in every dialect.
    sdk: Annotated[
        str, Meta(pattern=r"^[!-~]{1,64}(?![\s\S])", description="name/version of the client")
    ]
    day: Annotated[
        str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\s\S])", description="UTC day")
    ]
    pseudonym: Annotated[
        bytes,
        Meta(
            min_length=PSEUDONYM_BYTES,
            max_length=PSEUDONYM_BYTES,
            description="stands for the device on this day",
        ),
    ]

    @property
    def date(self) -> date:
        """The day as a date. Raises BadRequest for a day that no calendar has."""
        try:
            return parse_day(self.day)
        except ValueError:
            raise BadRequest("day: is not a day of the calendar; write YYYY-MM-DD") from None


Reports = Annotated[list[Report], Meta(extra_json_schema={"maxItems": MAX_BATCH_REPORTS})]


class Batch(Envelope, frozen=True, forbid_unknown_fields=True):
    """The reports of one device and one UTC day."""

    reports: Reports


class RetractionBatch(Envelope, frozen=True, forbid_unknown_fields=True):
    """What one device takes back of one UTC day: each report in the fields it was sent in."""

    retractions: Reports


_JSON = msgspec.json.Decoder(Batch)
_JSON_RETRACTIONS = msgspec.json.Decoder(RetractionBatch)
_JSON_AGAIN = msgspec.json.Encoder()
_MSGPACK = msgspec.msgpack.Decoder(Batch)
_MSGPACK_RETRACTIONS = msgspec.msgpack.Decoder(RetractionBatch)
_MSGPACK_AGAIN = msgspec.msgpack.Encoder()

# What msgspec may be quoted on: these messages are made of our own field names, types and limits.
_SAFE = re.compile(
    r"Expected `[a-z |]+`( (of length )?[<>]= \d+|, got `[a-z]+`)?"
    r"|Object missing required field `[a-z]+`"
    r"|Invalid base64 encoded string"
    r"|Integer value out of range|Number out of range|Input data was truncated"
    r"|Invalid UTF-8 encoded string"
    r"|JSON is malformed: [a-z0-9 -]+ \(byte \d+\)"
)
_PATH = re.compile(r" - at `\$((?:\.[a-z]+|\[\d+\])+)`$")


def decode_batch(body: bytes, media_type: str) -> Batch:
    """Return the batch in `body`.

    Raises BadRequest if it isn't the schema, TooLarge if it holds more than 500 reports. The
    detail names the field and never what was in it.
    """
    batch = _decode(body, media_type, _JSON, _MSGPACK)
    _check_length(batch.reports)
    return batch


def decode_retractions(body: bytes, media_type: str) -> RetractionBatch:
    """Return the retractions in `body`. Raises BadRequest as `decode_batch` does."""
    batch = _decode(body, media_type, _JSON_RETRACTIONS, _MSGPACK_RETRACTIONS)
    _check_length(batch.retractions)
    return batch


Sent = TypeVar("Sent", Batch, RetractionBatch)


def _decode(
    body: bytes,
    media_type: str,
    json_decoder: msgspec.json.Decoder[Sent],
    msgpack_decoder: msgspec.msgpack.Decoder[Sent],
) -> Sent:
    try:
        if media_type == JSON:
            sent = json_decoder.decode(body)
            if _JSON_AGAIN.encode(sent) != body:
                _check_json(sent, body)
        elif media_type == MSGPACK:
            sent = msgpack_decoder.decode(body)
            if len(_MSGPACK_AGAIN.encode(sent)) != len(body):
                _refuse("a key is repeated, or a number or length is longer than it need be")
        else:
            raise UnsupportedMedia(f"send {JSON} or {MSGPACK}")
    except msgspec.DecodeError as error:
        _refuse(_explain(str(error)))
    return sent


def _check_length(reports: list[Report]) -> None:
    if len(reports) > MAX_BATCH_REPORTS:
        raise TooLarge(
            f"a batch holds at most {MAX_BATCH_REPORTS} reports; split it and send the parts"
        )


def _refuse(what: str) -> NoReturn:
    raise BadRequest(f"the body is not a batch of reports: {what}")


def _explain(message: str) -> str:
    """Return what msgspec found, unless its words hold some of the client's."""
    found = _PATH.search(message)
    where = found[1].lstrip(".") + ": " if found else ""
    what = message[: found.start()] if found else message
    if _SAFE.fullmatch(what):
        return where + what
    if what.startswith("Object contains unknown field"):
        return where + "there is a field that the schema does not have; remove it"
    return where + "does not match the schema"


def _check_json(sent: Batch | RetractionBatch, body: bytes) -> None:
    """Refuse a repeated key, and base64 or a number that isn't in its one canonical form."""
    document = json.loads(body.decode(), object_pairs_hook=_unrepeated, parse_int=str)
    _check_base64(document["pseudonym"], sent.pseudonym, "pseudonym")
    name, reports = (
        ("reports", sent.reports) if isinstance(sent, Batch) else ("retractions", sent.retractions)
    )
    for i, (given, report) in enumerate(zip(document[name], reports, strict=True)):
        if given["cohort"] != str(report.cohort):
            _refuse(f"{name}[{i}].cohort: is written -0; write 0")
        _check_base64(given["id"], report.id, f"{name}[{i}].id")
        _check_base64(given["payload"], report.payload, f"{name}[{i}].payload")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        _refuse("a key is repeated")
    return fields


def _check_base64(given: str, value: bytes, where: str) -> None:
    if given != b64encode(value).decode():
        _refuse(f"{where}: Invalid base64 encoded string")
