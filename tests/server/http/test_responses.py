"""Answers to readers: which form, and 304 for who has it already."""

import hashlib

import pytest
from starlette.requests import Request

from rumor_server.http.responses import conditional, preferred

JSON, CSV, HTML = "application/json", "text/csv", "text/html"
BODY = b"a table"
TAG = hashlib.sha256(BODY).hexdigest()


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/csv", CSV),
        ("*/*", JSON),
        ("", JSON),
        ("application/*, text/csv;q=0.5", JSON),
        ("text/csv, application/json", JSON),
        ("text/csv, application/json;q=0.5", CSV),
        ("text/csv;q=0.1, */*;q=0.2", JSON),
        ("text/csv;q=x", JSON),
    ],
)
def test_weighs_accept(accept: str, expected: str) -> None:
    """CSV is sent where it is wanted more than JSON."""
    assert preferred(accept, JSON, CSV) == expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HTML),
        ("text/*;q=0.9, application/json;q=0.8", HTML),
        ("application/json", JSON),
        ("text/csv, */*;q=0.1", CSV),
    ],
)
def test_a_page_is_what_wildcards_mean(accept: str, expected: str) -> None:
    """A browser gets a page, and a program what it names."""
    assert preferred(accept, HTML, JSON, CSV) == expected


def answered(given: str, status: int = 200, method: str = "GET") -> int:
    """The status of an answer to a reader who sends this If-None-Match."""
    headers = [(b"if-none-match", given.encode())]
    request = Request({"type": "http", "method": method, "headers": headers})
    return conditional(request, BODY, CSV, status=status).status_code


@pytest.mark.parametrize(
    "form",
    [
        '"{}"',
        'W/"{}"',
        '"{}-gzip"',
        'W/"{}-gzip"',
        '"{}--gzip"',
        '"{};gzip"',
        '"{}-br"',
        '"other", W/"{}-zstd"',
        '"a,b", "{}"',
    ],
)
def test_knows_a_tag_that_a_proxy_changed(form: str) -> None:
    """H3-17: a proxy that compresses rewrites the tag; the reader has the content all the same."""
    assert answered(form.format(TAG)) == 304


@pytest.mark.parametrize(
    "form", ['"{}-gzip-gzip-gzip"', '"{}x"', '"x{}"', "{}", '"{}-gzipx"', '"-gzip"', ""]
)
def test_another_tag_is_another(form: str) -> None:
    """What only resembles a tag of ours is answered in full."""
    assert answered(form.format(TAG)) == 200


def test_only_a_whole_answer_to_a_reader_is_unchanged() -> None:
    """An error, and what answers a POST, is told in full."""
    assert answered(f'"{TAG}"', status=404) == 404
    assert answered(f'"{TAG}"', method="POST") == 200
    assert answered("*") == 304
