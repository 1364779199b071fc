"""Closed domains whose values are hashed by cohort: which cells a value owns, and a regression.

Read `candidate_hashing`, `md5_hashing` and `hash_table` (which cell a value owns), `coincidences`
(how values share cells), `cohort_regression` and `cohort_estimates` (from cells to shares).
"""
