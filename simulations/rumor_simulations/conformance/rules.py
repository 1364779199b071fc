"""The schema of a request, judged without mercy: what the wire allows, and nothing beside."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import date
from typing import Any

from rumor_shared.days import parse_day
from rumor_shared.errors import MalformedPayload
from rumor_shared.registry import Registry
from rumor_shared.wire import (
    ID_BYTES,
    JSON,
    MAX_BATCH_BYTES,
    MAX_BATCH_REPORTS,
    PSEUDONYM_BYTES,
)

_SDK_LENGTH = 64


class Broken(Exception):
    """The request breaks a rule; `what` says which."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


def read_batch(
    headers: Mapping[str, str], body: bytes, listed: str, registry: Registry, today: date
) -> dict[str, Any]:
    """Return the batch in a request. Raises Broken. Names of headers are in lower case.

    `listed` is "reports" or "retractions".
    """
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Broken(f"the content type is not {JSON}")
    if headers.get("content-encoding", "identity") == "gzip":
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError):
            raise Broken("the body is not gzip, though its encoding says so") from None
    if len(body) > MAX_BATCH_BYTES:
        raise Broken(f"the body has {len(body)} bytes inflated, more than {MAX_BATCH_BYTES}")
    try:
        batch = json.loads(body.decode("utf-8"), object_pairs_hook=_unrepeated)
    except ValueError:
        raise Broken("the body is not JSON in UTF-8") from None
    _keys(batch, {"sdk", "day", "pseudonym", listed}, "the batch")
    sdk = _text(batch, "sdk")
    if not 0 < len(sdk) <= _SDK_LENGTH or not all("!" <= c <= "~" for c in sdk):
        raise Broken("sdk is not 1 to 64 visible ASCII characters")
    try:
        day = parse_day(_text(batch, "day"))
    except ValueError:
        raise Broken("day is not YYYY-MM-DD") from None
    if day > today:
        raise Broken("day is after the collector's own")
    _binary(batch, "pseudonym", PSEUDONYM_BYTES)
    reports = batch[listed]
    if not isinstance(reports, list) or not 0 < len(reports) <= MAX_BATCH_REPORTS:
        raise Broken(f"{listed} is not a list of 1 to {MAX_BATCH_REPORTS}")
    for report in reports:
        _check(report, registry)
    if len({report["id"] for report in reports}) != len(reports):
        raise Broken("an id stands twice in a batch")
    found: dict[str, Any] = batch
    return found


def _check(report: object, registry: Registry) -> None:
    _keys(report, {"id", "metric", "revision", "cohort", "payload"}, "a report")
    fields: dict[str, Any] = report  # type: ignore[assignment]
    _binary(fields, "id", ID_BYTES)
    metric = registry.metrics.get(_text(fields, "metric"))
    if metric is None:
        raise Broken("metric is not in the registry")
    if _number(fields, "revision") != metric.revision:
        raise Broken("revision is not the registry's")
    try:
        metric.mechanism.check_cohort(_number(fields, "cohort"))
        metric.mechanism.check_payload(_binary(fields, "payload"))
    except MalformedPayload as error:
        raise Broken(f"{metric.name}: {error.what}") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Broken("a key stands twice")
    return dict(pairs)


def _keys(found: object, expected: set[str], where: str) -> None:
    if not isinstance(found, dict) or set(found) != expected:
        raise Broken(f"{where} has not exactly the keys {', '.join(sorted(expected))}")


def _text(fields: Mapping[str, Any], key: str) -> str:
    if not isinstance(fields[key], str):
        raise Broken(f"{key} is not text")
    return str(fields[key])


def _number(fields: Mapping[str, Any], key: str) -> int:
    if type(fields[key]) is not int:
        raise Broken(f"{key} is not an integer")
    return int(fields[key])


def _binary(fields: Mapping[str, Any], key: str, size: int | None = None) -> bytes:
    text = _text(fields, key)
    try:
        raw = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise Broken(f"{key} is not base64") from None
    if b64encode(raw).decode() != text:
        raise Broken(f"{key} is not base64 in its one canonical form, with padding")
    if size is not None and len(raw) != size:
        raise Broken(f"{key} has {len(raw)} bytes, not {size}")
    return raw
