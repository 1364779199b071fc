"""Intervals and tests by the exact law of a count, and by the normal law where that holds.

Read `count_law` (the law), `exact_interval` with the law's tails, `corrected_interval` and
`score_interval` (what they leave possible), `confidence_sequence` (on every day at once),
`significance` (which values are there at all) and `two_samples` (whether two counts differ).
"""
