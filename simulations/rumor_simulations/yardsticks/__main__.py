"""`python -m rumor_simulations.yardsticks`: reproduce the published numbers, or say which fail."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from pathlib import Path

from rumor_simulations.yardsticks.hierarchy import measure_hierarchy
from rumor_simulations.yardsticks.identities import measure_identities, measure_shuffling
from rumor_simulations.yardsticks.unoffered import measure_numbers, measure_two_rounds
from rumor_simulations.yardsticks.variances import (
    measure_local_hashing,
    measure_pgr_files,
    measure_poisoning,
    measure_spikes,
)
from rumor_simulations.yardsticks.yardstick import table


def main() -> int:
    """Measure all yardsticks; return 1 if one is not reproduced."""
    parser = argparse.ArgumentParser(prog="rumor_simulations.yardsticks", description=__doc__)
    parser.add_argument("--write", type=Path, help="the document to write; else it is printed")
    parser.add_argument("--runs", type=int, default=10, help="more make smaller errors (10)")
    given = parser.parse_args()
    yardsticks = []
    for one in chain(
        measure_pgr_files(given.runs),
        measure_spikes(40 * given.runs),
        measure_local_hashing(4 * given.runs),
        measure_poisoning(3 * given.runs),
        measure_hierarchy(30 * given.runs),
        measure_shuffling(),
        measure_identities(),
        measure_numbers(),
        measure_two_rounds(),
    ):
        yardsticks.append(one)
        print(f"{one.name}: {one.what}", file=sys.stderr)
    document = table(yardsticks)
    if given.write is None:
        print(document, end="")
    else:
        given.write.write_text(document, encoding="utf-8")
    missed = [one for one in yardsticks if not one.reproduced]
    for one in missed:
        print(f"not reproduced: {one.name}, {one.what}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
