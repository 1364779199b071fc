"""Standard streams that a command can always write to: closed, or a pipe whose reader has gone.

A descriptor that was closed at the start would be given to the next file that is opened: a log line
would then go into a database. So each of the three is opened, if only to nowhere.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class _LastingOutput(io.FileIO):
    """A descriptor whose reader may go: what is written then goes nowhere, and nothing fails."""

    def write(self, data: Any) -> int:
        """Write bytes; return how many."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data) or 0


def secure() -> None:
    """Make `sys.stdin`, `sys.stdout` and `sys.stderr` usable whatever the caller left of them.

    Output in any language is shown on a console that knows only ASCII too.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free, and those below it are taken by now.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor, for good
    sys.stdout = _lasting(sys.stdout, 1)
    sys.stderr = _lasting(sys.stderr, 2)


def _lasting(stream: Any, descriptor: int) -> Any:
    """Return a stream that outlives its reader, or the one that somebody else put there."""
    if stream is None:
        encoding, by_line = "utf-8", False
    elif isinstance(stream, io.TextIOWrapper) and _is_on(stream, descriptor):
        stream.flush()
        encoding, by_line = stream.encoding, stream.line_buffering
    else:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_LastingOutput(descriptor, "wb", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=by_line,
    )


def _is_on(stream: io.TextIOWrapper, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor and not isinstance(
            getattr(stream.buffer, "raw", None), _LastingOutput
        )
    except (OSError, ValueError):
        return False
