"""The audit: attack the installed client, and say how much it gives away and what it declares.

Read `exact_law` and `certificate` (every output with its exact probability), then `trials`,
`events`, `bounds` and `loss` (what can be concluded from many runs), and `mechanism_audit`, which
does both on `client`. `pipeline`, with `device_bench` and `probe`, audits what a device does over
days, crashes and retries. `plan` says what is audited, `report` what was found; `self_check` is the
short form for `rumor doctor`. `peers` and `peer_reports` hold published software to the same.
"""
