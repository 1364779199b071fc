"""Measure the house: `python -m tests.house`, with `--list` to see what each number counts."""

import sys

from tests.house import counts, walk


def main() -> None:
    """Print every number."""
    details = "--list" in sys.argv[1:]
    for line in (*counts.report(details=details), *walk.report(details=details)):
        print(line)


if __name__ == "__main__":
    main()
