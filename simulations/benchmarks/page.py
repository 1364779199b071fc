"""The bench's document as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """# Performance

<!-- Made by `make bench`. Do not edit: the next run writes over it. -->

Each claim of speed or memory beside its peer, another library that does the same, or its floor,
what nothing can go below. All of it was measured in one run on one machine, on one processor on
both sides (`OPENBLAS_NUM_THREADS=1`, `LOKY_MAX_CPU_COUNT=1`). Sides take turns and medians are
compared, because **the machine is noisy**: other work ran on it, and times vary by a third or more
from run to run. Ratios vary less; neither is a promise about your machine. Run `make bench` on it.
Counts of instructions hardly vary.

`ratio` is ours over theirs: below 1 we are faster, or smaller. `aim` is the largest ratio that we
are content with, where one was set beforehand; a ratio that misses it is **bold**.
"""
_COLUMNS = ("what", "ours", "unit", "beside", "theirs", "ratio", "aim")


def page(document: Mapping[str, Any]) -> str:
    """Return the page: versions, then one table a subject, under what that subject measures."""
    return "\n".join([_HEAD, *_versions(document), *_subjects(document["subjects"])])


def _versions(document: Mapping[str, Any]) -> Iterator[str]:
    ours = {"rumor": document["rumor"], "Python": document["python"], **document["versions"]}
    yield f"Ours: {_named(ours)}, {document['machine']}.\n"
    yield (
        f"Peers, in an environment of their own: {_named(document['peers'])}. ldp-toolbox is there "
        "without the packages that only its dashboard uses.\n"
    )


def _named(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _subjects(subjects: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, subject in subjects.items():
        yield f"## {name.replace('_', ' ').capitalize()}\n"
        yield f"{subject['what'].strip()}\n"
        if not subject["rows"]:
            yield "Not measured in this run.\n"
            continue
        yield f"| {' | '.join(_COLUMNS)} |"
        yield "|---|---:|---|---|---:|---:|---:|"
        for row in subject["rows"]:
            yield f"| {' | '.join(cells(row))} |"
        yield ""


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return a row's cells in the order of the columns."""
    ratio = _number(row["ratio"])
    return [
        row["name"],
        _number(row["value"]),
        row["unit"],
        row["peer"] or "",
        _number(row["peer_value"]),
        f"**{ratio}**" if row["reached"] is False else ratio,
        _number(row["aim"]),
    ]


def _number(value: float | None) -> str:
    """Three digits that mean something; those before the point are all written."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
