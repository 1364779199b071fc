"""The reference of `/metrics`: every name that a collector sends to Prometheus."""

from __future__ import annotations

from docs.generators.explained import NOTICE, table

from rumor_server.http.prometheus import FAMILIES


def page() -> str:
    """Return the page. A name can't be without a meaning: the code declares both together."""
    rows = ((f"`{name}`", family.kind, family.meaning) for name, family in FAMILIES.items())
    lines = [
        NOTICE,
        "",
        "# Prometheus reference",
        "",
        "What a collector sends at `/metrics`. Names that begin with `rumor_database_` are read",
        "from the database, and are the same on every process. All others are of the process that",
        "answers, since it began: scrape each process by its own address.",
        "",
        *table(("name", "type", "meaning"), rows),
    ]
    return "\n".join(lines).rstrip() + "\n"
