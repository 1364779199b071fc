"""The table of docs/accuracy.md, made from what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from rumor_simulations.yardsticks.yardstick import Yardstick

_HEAD = """\
# Accuracy

<!-- Made by `make yardsticks`. Do not edit: the next run writes over it. -->

Published numbers, and the same measured on the estimators as they are shipped, with fixed seeds.
`predicted` is what theory gives for the exact integers of the mechanism; `published` is what the
authors' own files or papers say; `z` is how many of its own standard errors our measurement is from
the prediction (exact where nothing is drawn). Published measurements have errors of their own, of
about 1% for Y1 to Y4.

Rows Y1 to Y8 and LH are mean squared errors of estimated counts, in devices squared, averaged over
all values. The others say what they are. What is *not offered* is measured for comparison alone.

| | what | predicted | published | ours | z |
|---|---|---|---|---|---|
"""


def table(yardsticks: Sequence[Yardstick]) -> str:
    """Return the document, a row a yardstick."""
    return _HEAD + "".join(f"| {' | '.join(_cells(one))} |\n" for one in yardsticks)


def _cells(one: Yardstick) -> tuple[str, ...]:
    z = "exact" if one.z is None else f"{one.z:+.1f}"
    if not one.reproduced:
        z += " **not reproduced**"
    published = "" if one.published is None else f"{one.published:g}"
    return one.name, one.what, _number(one.predicted), published, _number(one.measured), z


def _number(x: float) -> str:
    return f"{x:.5g}" if abs(x) < 100_000 else f"{x:,.0f}"
