"""Rows a part at a time: the bounds of a part, and the address of the next one (RFC 8288)."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.datastructures import QueryParams

# An open domain takes at most 10^5 candidates, and no registry lists more values.
MAX_ROWS = 100_000


def next_link(query: QueryParams, rows: int, limit: int | None, offset: int) -> dict[str, str]:
    """Return the header that leads to the next part of `rows`, or none after the last.

    The address is relative, so that it stays true behind a proxy, and asks for everything else as
    `query` did.
    """
    if limit is None or offset + limit >= rows:
        return {}
    others = [pair for pair in query.multi_items() if pair[0] not in ("limit", "offset")]
    where = urlencode([*others, ("limit", limit), ("offset", offset + limit)])
    return {"Link": f'<?{where}>; rel="next"'}
