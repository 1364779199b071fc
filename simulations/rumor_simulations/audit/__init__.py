"""Attack the installed client, and say how much it gives away beside what it declares.

Read `device` (a first report, by the functions that an app runs), `exact_law` and `certificate`
(every outcome, held against the declared law), `source` (where chance comes from), then the attack:
`trials`, `events`, `bounds`, `loss`. `mechanism_audit` puts both together; `pipeline` tries what
surrounds the noise, with `device_bench` and, in processes of their own, `probe`. `plan` says what
is audited, `report` prints it, `self_check` is the short form that `rumor doctor` runs. `peers`
holds other software to the same audit, by its reports (`peer_reports`).
"""
