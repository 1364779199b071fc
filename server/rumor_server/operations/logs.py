"""Logs: one JSON object a line, of our own words alone.

An exception is told by its type and the lines it passed: its message may quote what a client sent.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

# What a record may carry beside its message; anything else that a library adds is left out.
FIELDS = ("time", "level", "logger", "message", "error")


class JsonFormatter(logging.Formatter):
    """Writes a record as a JSON object with the `FIELDS`; `error` only where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = _bare(record.exc_info[0], record.exc_info[2])
        return json.dumps(line, ensure_ascii=True)


class TextFormatter(logging.Formatter):
    """Writes a record for people, under the same rule for exceptions."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the base class names it
        """Return the type of an exception and the lines it passed."""
        return "\n".join(_bare(ei[0], ei[2]))


def set_up(level: str, form: str) -> None:
    """Send all logs to standard error, for whatever collects a service's output.

    Where somebody set logging up before, as a test does, that stays.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    # It quotes bytes of what was uploaded.
    logging.getLogger("python_multipart").disabled = True
    logging.getLogger("python_multipart.multipart").disabled = True


def _bare(kind: type[BaseException], trace: TracebackType | None) -> list[str]:
    """Return an exception's type and its lines: file, number and function."""
    lines = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(trace, limit=-20)
    ]
    return [f"{kind.__module__}.{kind.__qualname__}", *lines]


class Throttled:
    """A logger of what strangers cause at any rate: one line in `pause` seconds, with a count."""

    def __init__(
        self,
        log: logging.Logger,
        pause: float = 1.0,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._pause = pause
        self._seconds = seconds
        self._since: dict[str, tuple[float, int]] = {}

    def info(self, message: str, *arguments: object) -> None:
        """Log at the level info."""
        self._write(logging.INFO, message, arguments)

    def warning(self, message: str, *arguments: object) -> None:
        """Log at the level warning."""
        self._write(logging.WARNING, message, arguments)

    def _write(self, level: int, message: str, arguments: tuple[object, ...]) -> None:
        if not self._log.isEnabledFor(level):
            return
        now = self._seconds()
        last, unsaid = self._since.get(message, (-math.inf, 0))
        if now - last < self._pause:
            self._since[message] = last, unsaid + 1
            return
        self._since[message] = now, 0
        again = f" (and {unsaid} times more before)" if unsaid else ""
        self._log.log(level, message + again, *arguments)
