"""Real populations from the data files of packages: browsers and surnames.

`fake-useragent` lists in `browsers.jsonl` 6,936 user agents with the percentage of use of each;
2.2.0 sums to 99.97. Aggregated they are 161 browsers with major version, 23 browsers, 7 operating
systems.

`names` has surnames as the United States census of 1990 counted them: 88,799 with the percentage
of people who bear each, the commonest 1.006%, the ten commonest 5.6%. A work of the United States
government, in the public domain.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

from rumor_simulations.population import Population


class Browser(NamedTuple):
    """One browser in use: its name, its major version and the system it runs on."""

    name: str
    major: int
    system: str

    @property
    def label(self) -> str:
        """Name and major version, such as `Firefox 137`."""
        return f"{self.name} {self.major}"


def browsers() -> Population[Browser]:
    """Return the browsers in use by share. Raises ModuleNotFoundError without `fake-useragent`."""
    text = files("fake_useragent").joinpath("data", "browsers.jsonl").read_text("utf-8")
    return Population.of(_weighted(json.loads(line)) for line in text.splitlines())


def _weighted(row: dict[str, object]) -> tuple[Browser, float]:
    major, _, _ = str(row["browser_version"]).partition(".")
    browser = Browser(str(row["browser"]), int(major), str(row["os"]))
    return browser, float(str(row["percent"]))


def absent_labels(present: Collection[Browser], count: int) -> list[str]:
    """Return `count` plausible labels that no browser of `present` has.

    They are older versions of the same browsers, newest first and browsers by turns, as an
    analyst's list of candidates would hold them. Raises ValueError if there are not so many.
    """
    taken = {browser.label for browser in present}
    absent = [*islice((label for label in _releases(present) if label not in taken), count)]
    if len(absent) < count:
        raise ValueError(f"only {len(absent)} labels are absent; ask for at most so many")
    return absent


def _releases(present: Collection[Browser]) -> Iterator[str]:
    newest: dict[str, int] = {}
    for browser in present:
        newest[browser.name] = max(browser.major, newest.get(browser.name, 0))
    for age in range(max(newest.values())):
        for name, major in newest.items():
            if major - age >= 1:
                yield f"{name} {major - age}"


# 69,960 surnames are printed as 0.000. The column of sums, which is not rounded line by line,
# goes from 77.480 to 90.483 over them: this much each.
_RAREST = (90.483 - 77.480) / 69_960


def surnames() -> Population[str]:
    """Return the surnames by share. Raises ModuleNotFoundError without `names`."""
    text = files("names").joinpath("dist.all.last").read_text("ascii")
    columns = (line.split() for line in text.splitlines())
    return Population.of((name, max(float(percent), _RAREST)) for name, percent, *_ in columns)
