"""Sweeps: how near estimates come to the truth, over mechanisms, epsilons, devices and values.

Read `setting` (one point of a sweep), `measures` and `drift` (what is measured there),
`experiments` (which points, and how they are run), `figures` (how each is drawn).
"""
