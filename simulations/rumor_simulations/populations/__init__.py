"""Populations that simulations draw from.

Read `named` (those that `--population` takes, most of them made by a formula), then
`from_packages` (real ones, out of the data files of packages).
"""

POPULATION_NAMES = ("zipf", "normal", "uniform", "spike", "surnames", "browsers", "words", "adult")
