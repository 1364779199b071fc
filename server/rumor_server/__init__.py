"""The collector: it takes reports in, adds them up, and estimates frequencies.

A report goes down: `serving` and `app` (one process), `http` (requests), `ingestion` (what is
decided of a report), `storage` (what is written, whole or not at all). A question goes down another
way: `http`, `queries` (the one service that answers), `statistics` (arrays in, arrays out).
`reader` asks a collector from Python, and `analyst` is its public name.

`operations` keeps a collector well, `planner` chooses mechanisms, `rappor_import` reads Google's
files; `cli` is the command line. `settings`, `access` (who may do what), `errors` and `clock` are
what all know. Imports run one way, in the order of the contract in pyproject.toml.
"""
