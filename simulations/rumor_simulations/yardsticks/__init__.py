"""Published numbers that this implementation must reproduce, measured on the shipped estimators.

`yardstick` says what one is; `populations`, `block_hadamard`, `variances` and `identities` measure
them; `report` writes the table of docs/accuracy.md. `python -m rumor_simulations.yardsticks` runs
all of it.
"""
