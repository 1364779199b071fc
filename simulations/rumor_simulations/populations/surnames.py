"""Surnames as the United States census of 1990 counted them: the file inside `names`.

88,799 surnames with the percentage of people who bear each: the commonest 1.006%, the ten
commonest 5.6%. A work of the United States government, in the public domain.
"""

from __future__ import annotations

from importlib.resources import files

from rumor_simulations.population import Population

# 69,960 surnames are printed as 0.000. The column of sums, which is not rounded line by line,
# goes from 77.480 to 90.483 over them: this much each.
_RAREST = (90.483 - 77.480) / 69_960


def surnames() -> Population[str]:
    """Return the surnames by share. Raises ModuleNotFoundError without `names`."""
    text = files("names").joinpath("dist.all.last").read_text("ascii")
    columns = (line.split() for line in text.splitlines())
    return Population.of((name, max(float(percent), _RAREST)) for name, percent, *_ in columns)
