"""Operations: what keeps a collector well, and what says so.

Read `keyring` (keys), `periodic_tasks` and `day_closing` (what happens by itself), `readiness`
(whether a report could be committed now), `logs`, then `doctor` with `room_checks` (what is looked
at).
"""
