"""Read the form in which candidates are uploaded: a file, or lines typed into a box."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request

from rumor_server.errors import BadRequest, UnsupportedMedia
from rumor_server.http.body import read_body
from rumor_server.http.candidates import MAX_BODY_BYTES

_MULTIPART = "multipart/form-data"
_FORM = "application/x-www-form-urlencoded"
FILE = "file"
TEXTS = "texts"


async def read_upload(request: Request, seconds: float) -> bytes:
    """Return the bytes of the form's `file`, or of `texts` where no file is chosen.

    Raises UnsupportedMedia for no form, BadRequest for a broken one, else as `read_body`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {_MULTIPART, _FORM}:
        raise UnsupportedMedia(f"send {_MULTIPART} with `{FILE}`, or {_FORM} with `{TEXTS}`")
    body = await read_body(request.receive, request.headers, seconds, MAX_BODY_BYTES)
    form = await _parse(kind, request.headers, body)
    try:
        file = form.get(FILE)
        if isinstance(file, UploadFile) and file.size:
            return await file.read()
        texts = form.get(TEXTS)
        return texts.encode() if isinstance(texts, str) else b""
    finally:
        await form.close()


async def _parse(kind: str, headers: Headers, body: bytes) -> FormData:
    # The whole body is within its bound; a part of it can't be larger.
    parser = FormParser if kind == _FORM else MultiPartParser
    try:
        return await parser(
            headers, _once(body), max_fields=4, max_part_size=MAX_BODY_BYTES
        ).parse()
    except (MultiPartException, KeyError, ValueError):
        raise BadRequest("the form is broken; send it again") from None


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
    yield b""
