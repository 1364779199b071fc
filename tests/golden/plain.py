"""Make what a collector or a command says comparable: nothing of the moment, the machine or chance.

Numbers of many digits are cut to seven, since their last ones are those of a processor's linear
algebra.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.golden.opening import Answer, Ran

# uvicorn's own, and what follows from a body that is compared itself.
_LEFT_OUT = {"date", "content-length", "connection", "transfer-encoding"}
_FLOAT = re.compile(
    r"(?<![\w.])-?\d+\.\d{7,}(?:e[+-]?\d+)?(?![\w.])|(?<![\w.])-?\d+(?:\.\d+)?e-\d+"
)
_PORT = re.compile(r"127\.0\.0\.1:\d+")
_STATIC = re.compile(r"(/static/[\w.-]+\?)[0-9a-f]+")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


# A run may cross midnight.
_BEGUN = _today()


def text(found: str, folder: Path | None = None) -> str:
    """Return a text without port, folder and long fractions."""
    if folder is not None:
        found = found.replace(str(folder), "FOLDER")
    found = _STATIC.sub(r"\1HASH", _PORT.sub("127.0.0.1:PORT", found))
    return _FLOAT.sub(lambda match: f"{float(match[0]):.7g}", found)


def answer(got: Answer) -> dict[str, Any]:
    """Return an answer as JSON: its status, headers and body."""
    kind = got.headers.get("content-type", "")
    headers = {name: text(value) for name, value in got.headers.items() if name not in _LEFT_OUT}
    # It is a hash of every digit of the body.
    headers |= {"etag": "ETAG"} if "etag" in headers else {}
    body: Any = text(got.body.decode())
    if "json" in kind and body:
        body = json.loads(body)
    return {"status": got.status, "headers": headers, "body": body}


def ran(got: Ran, folder: Path) -> dict[str, Any]:
    """Return what a command left behind as JSON; each run of blanks is one, as widths change."""
    told: dict[str, Any] = {"code": got.code}
    for name, found in (("out", got.out), ("err", got.err)):
        cleaned = text(found.replace(_BEGUN, "TODAY").replace(_today(), "TODAY"), folder)
        lines = [re.sub(r"\s+", " ", line).strip() for line in cleaned.splitlines()]
        try:
            told[name] = json.loads(cleaned)
        except ValueError:
            told[name] = [line for line in lines if line]
    return {name: found for name, found in told.items() if found != []}


def html(got: Answer) -> str:
    """Return a page as lines without indentation."""
    lines = (line.strip() for line in text(got.body.decode()).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def compact(document: Any) -> str:
    """Return JSON with a line for each member of the first two levels, to be read in a diff."""
    return _lines(document, 2) + "\n"


def _lines(document: Any, depth: int) -> str:
    if depth and isinstance(document, dict) and document:
        inner = (f"{json.dumps(k)}: {_lines(v, depth - 1)}" for k, v in document.items())
        return "{\n" + ",\n".join(inner) + "\n}"
    if depth and isinstance(document, list) and document:
        return "[\n" + ",\n".join(_lines(one, depth - 1) for one in document) + "\n]"
    return json.dumps(document, ensure_ascii=False)
