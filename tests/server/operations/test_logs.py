"""Logs: one JSON object a line, and no word of an exception's, which may be a client's."""

import json
import logging
import sys

import pytest

from rumor_server.operations.logs import FIELDS, JsonFormatter, TextFormatter

SECRET = "SECRET123"


def record(message: str, *arguments: object, fails: bool = False) -> logging.LogRecord:
    """A record, with an exception that quotes a secret."""
    info = None
    if fails:
        try:
            raise ValueError(SECRET)
        except ValueError:
            info = sys.exc_info()
    made = logging.LogRecord("rumor_server.x", logging.ERROR, "f", 1, message, arguments, info)
    made.payload = SECRET
    return made


def test_writes_one_object_a_line() -> None:
    """A record is one line of JSON with the declared fields, whatever it holds."""
    line = JsonFormatter().format(record("two\nlines %s", "é\u2028"))
    assert "\n" not in line
    assert line.isascii()
    parsed = json.loads(line)
    assert sorted(parsed) == sorted(set(FIELDS) - {"error"})
    assert parsed["message"] == "two\nlines é\u2028"
    assert (parsed["level"], parsed["logger"]) == ("error", "rumor_server.x")
    assert parsed["time"].endswith("+00:00")


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_tells_an_exception_without_its_words(formatter: logging.Formatter) -> None:
    """SV-02: an exception is told by type and lines; its message and a record's extras are not."""
    line = formatter.format(record("a batch failed", fails=True))
    assert SECRET not in line
    assert "ValueError" in line
    assert f"{__file__}:" in line
