"""Published numbers that this implementation must reproduce, measured on the shipped estimators.

Read `yardstick` (what one is, and the table of docs/accuracy.md), `populations` (those of the
papers), `identities` (computed), `variances` and `hierarchy` (drawn), `unoffered` (mechanisms for
comparison alone). `python -m rumor_simulations.yardsticks` runs all of it.
"""
