"""Intervals and tests by the exact law of a count, and by the normal law where that holds.

Read `count_law` (the law), `binomial_tail` and `exact_tail` (its tails), `exact_interval`,
`corrected_interval` and `score_interval` (what they leave possible), `significance` (which values
are there at all) and `two_samples` (whether two counts differ).
"""
