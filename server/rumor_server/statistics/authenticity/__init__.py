"""Authenticity: whether the counted reports look like perturbed answers at all.

Read `weight_law` (how many bits an honest report sets), `report_weights` (how many reports broke
that law), `checks` (what a tally says, and what fakes could have moved).
"""
