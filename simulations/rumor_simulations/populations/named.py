"""The populations that sweeps draw from: made ones with one knob, and real ones out of packages."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from rumor_simulations.population import Population
from rumor_simulations.populations.from_packages import browsers, surnames

# Exponent of the NDSS 2020 and PGR experiments' neighbours: heads and tails both matter.
ZIPF_EXPONENT = 1.1
OTHER = "other"


class PopulationError(ValueError):
    """There is no such population here; the message says what to install or choose."""


def zipf(k: int) -> Population[str]:
    """Return k values whose shares fall as rank to the power -1.1."""
    return Population.of((_name(i), (i + 1) ** -ZIPF_EXPONENT) for i in range(k))


def normal(k: int) -> Population[str]:
    """Return k values as the bins of a bell that ends at three deviations on either side."""
    middle, deviation = (k - 1) / 2, max(k / 6, 0.5)
    return Population.of(
        (_name(i), math.exp(-(((i - middle) / deviation) ** 2) / 2)) for i in range(k)
    )


def uniform(k: int) -> Population[str]:
    """Return k values of one share."""
    return Population.of((_name(i), 1.0) for i in range(k))


def spike(k: int) -> Population[str]:
    """Return k values, the first of which half the devices hold; the others share the rest."""
    return Population.of((_name(i), (k - 1.0) if i == 0 else 1.0) for i in range(k))


def real_surnames(k: int) -> Population[str]:
    """Return the k - 1 commonest surnames of the census of 1990, and all others together."""
    return _commonest(surnames(), k)


def real_browsers(k: int) -> Population[str]:
    """Return the k - 1 commonest browsers with their major version, and all others together."""
    return _commonest(browsers().grouped(lambda browser: browser.label), k)


def words(k: int) -> Population[str]:
    """Return the k - 1 commonest English words by use, and all others together.

    82,765 words with counts from Google's n-grams, the dictionary inside `symspellpy`.
    """
    text = _inside("symspellpy", "frequency_dictionary_en_82_765.txt", "symspellpy==6.10.1")
    lines = (line.split() for line in text.read_text("utf-8-sig").splitlines())
    return _commonest(Population.of((word, float(count)) for word, count in lines), k)


def adult(k: int) -> Population[str]:
    """Return hours of work a week in the UCI Adult census of 1994, 32,561 people, from `xai`."""
    path = _inside("xai", "data/census.csv", "--no-deps xai==0.3.0")
    with path.open(encoding="utf-8", newline="") as file:
        hours = Counter(row["hours-per-week"].strip() for row in csv.DictReader(file))
    return _commonest(Population.of((h, float(count)) for h, count in hours.items()), k)


POPULATIONS: dict[str, Callable[[int], Population[str]]] = {
    "zipf": zipf,
    "normal": normal,
    "uniform": uniform,
    "spike": spike,
    "surnames": real_surnames,
    "browsers": real_browsers,
    "words": words,
    "adult": adult,
}


def named_population(name: str, k: int) -> Population[str]:
    """Return the population `name` with at most k values. Raises PopulationError."""
    if name not in POPULATIONS:
        raise PopulationError(f"there is no population {name!r}; choose {', '.join(POPULATIONS)}")
    try:
        return POPULATIONS[name](k)
    except ModuleNotFoundError as error:
        raise PopulationError(
            f"population {name!r} lies in {error.name!r}: pip install 'rumor[simulations]'"
        ) from None


def _commonest(whole: Population[str], k: int) -> Population[str]:
    kept = frozenset(whole.values[: k - 1] if len(whole.values) > k else whole.values)
    return whole.grouped(lambda value: value if value in kept else OTHER)


def _inside(package: str, name: str, install: str) -> Path:
    """Return a data file of a package, which is not imported: its own needs may be heavy."""
    try:
        path = Path(str(distribution(package).locate_file(f"{package}/{name}")))
    except PackageNotFoundError:
        raise PopulationError(
            f"this population lies in {package!r}: pip install {install}"
        ) from None
    return path


def _name(i: int) -> str:
    return f"v{i:06d}"
