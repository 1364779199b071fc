"""Benchmarks: every claim of speed beside its peer or its floor, measured in one run.

Read `row` (one measurement), `measures` (one module a subject, which `python -m benchmarks` finds
by itself), and `page` (docs/performance.md, made of rows). What measures need: `serving`, `load`
and `echo` (servers, and clients that post to them), `postgres_server`, `peers` and `peer_programs`
(other libraries in an environment of their own), `memory` and `fresh_decode`, `callgrind` and
`own_calls` (instructions).
"""
