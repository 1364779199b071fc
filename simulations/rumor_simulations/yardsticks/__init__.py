"""Published numbers that this implementation must reproduce, measured on the shipped estimators.

`yardstick` says what one is and `report` writes the table of docs/accuracy.md; the other modules
measure them. `python -m rumor_simulations.yardsticks` runs all of it.
"""
