"""The demo: real clients report real shares to a real collector, and the truth is known.

Read `scenario` (who holds what), `device` and `collector` (the two sides, on all cores),
`comparison` and `report` (truth beside estimate).
"""
