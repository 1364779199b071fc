"""Attacks on people and on results: what an attacker gains, beside what epsilon allows.

Read `target` (what is attacked), `device` (who answers), `reports` and `guess` (what answers say),
`people` (attacks on one metric), `sameness` and `profiles` (attacks that join days and metrics),
`outcome` (one result), then `poisoning` (attacks on estimates). `campaign` runs them all, `figures`
draws them.
"""
