"""Ask a collector over HTTP, with a key where it wants one: what `rumor query` and analysts use."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from rumor_shared.errors import RumorError
from rumor_shared.os_errors import explain

_KEY_WANTED = frozenset({401, 403})
_KEY_HINT = " (an analyst key goes into --key, RUMOR_KEY or key=)"
# The collector decodes 10^5 candidates within a minute.
_TIMEOUT = 120.0


class QueryFailed(RumorError):
    """The collector gave no answer, or said that it has none to give."""


def ask(
    url: str,
    metric: str,
    asked: Mapping[str, object],
    candidates: Sequence[str] | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Return a metric's estimates, the collector's answer parsed. Raises QueryFailed."""
    return _parsed(ask_as("application/json", url, metric, asked, candidates, key), url, "rows")


def ask_as(
    kind: str,
    url: str,
    metric: str,
    asked: Mapping[str, object],
    candidates: Sequence[str] | None = None,
    key: str | None = None,
    *,
    what: str = "estimates",
) -> bytes:
    """Return what is asked of a metric in a media type: `what` ends its path. Raises QueryFailed.

    Of `estimates` candidates may be many; of the others as many as an address holds.
    """
    pairs, body = list(asked.items()), None
    if candidates is not None and what == "estimates":
        body = json.dumps({"candidates": list(candidates)}).encode()
    elif candidates is not None:
        pairs += [("candidate", text) for text in candidates]
    path = f"/v1/metrics/{quote(metric, safe='')}/{what}?{urlencode(pairs)}"
    return _ask(url, path, body, key, kind)


def ask_periods(
    url: str,
    metric: str,
    what: str,
    asked: Mapping[str, object],
    candidates: Sequence[str] | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Return a metric's `trend`, `comparison`, `ranks` or `watch`, parsed. Raises QueryFailed."""
    answer = ask_as("application/json", url, metric, asked, candidates, key, what=what)
    return _parsed(answer, url, "rows")


def ask_metrics(url: str, key: str | None = None) -> dict[str, Any]:
    """Return every metric and what it costs, the collector's answer parsed. Raises QueryFailed."""
    return _parsed(_ask(url, "/v1/metrics", None, key, "application/json"), url, "metrics")


def _parsed(answer: bytes, url: str, holds: str) -> dict[str, Any]:
    """Return an answer, which must hold a field."""
    try:
        page: object = json.loads(answer)
    except ValueError:
        page = None
    if not isinstance(page, dict) or holds not in page:
        raise QueryFailed(f"what answers at {url} is no collector")
    return page


def _ask(url: str, path: str, body: bytes | None, key: str | None, kind: str) -> bytes:
    """Return the answer to one request. The messages say what to do."""
    if not is_address(url):
        raise QueryFailed("url: is not one; write http://host:port")
    if key and not (key.isascii() and key.isprintable()):
        raise QueryFailed("key: is not one; give what `rumor keys create` printed")
    headers = {"Accept": kind, "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    address = f"{url.rstrip('/')}{path}"
    try:
        request = Request(address, body, headers)  # noqa: S310 - http or https
        with urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - the same
            found: bytes = answer.read()
            if answer.headers.get_content_type() != kind:
                raise QueryFailed(f"what answers at {url} is no collector")
    except HTTPError as error:
        hint = _KEY_HINT if error.code in _KEY_WANTED else ""
        raise QueryFailed(f"the collector answers {error.code}: {_detail(error)}{hint}") from None
    except URLError as error:
        why = explain(error.reason) if isinstance(error.reason, OSError) else error.reason
        raise QueryFailed(f"no collector answers at {url}: {why}") from None
    except (http.client.HTTPException, TimeoutError, ValueError) as error:
        raise QueryFailed(
            f"what answers at {url} is no collector ({type(error).__name__})"
        ) from None
    return found


def is_address(url: str) -> bool:
    """Return whether a text is an address that can be asked."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _detail(error: HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        return "no reason is given"
