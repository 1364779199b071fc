"""Attacks on people and on results: what an attacker gains, and what epsilon allows.

Read `target` (what an attacker knows and may expect), `device`, `reports` and `guess` (from reports
to a guess), `people` (attacks on one metric's devices), `sameness` and `profiles` (those that join
days and metrics), `poisoning` (fakes that move a result); `outcome` is one result, `campaign` is
all of it on one registry, and `figures` draws it.
"""
