"""Simulations: populations that play real clients against a real collector.

Read `population`, `populations` (what devices hold) and `mechanisms` (a whole population's tally by
its exact law), with `draws` and `cohort_hashes` below them; then what is made of it: `demo`,
`sweep`, `audit`, `attacks`, `yardsticks`, `shuffling`, and `conformance` (a collector that judges
clients). `plotting` and `tables` write results, `commands` are the faces.
"""
