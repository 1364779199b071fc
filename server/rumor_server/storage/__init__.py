"""Where tallies, ids and spend are kept, in SQLite or PostgreSQL: all SQL of the collector is here.

Read `store` (what the collector asks of a database), `writer` (the one thread that writes, in
groups) and `committing` (the steps of a commit, the same on every database); then `sqlite` or
`postgres` (the SQL of those steps), on the schema that `migrations` makes and with `tally_rows`
(how a tally lies in it). `open_store` opens what the settings name. `receipts` are files outside
the database, for the day that a backup is restored.

Beside that: `operator_tables` (one transaction of the operator's tables, the same SQL on either
database) with `keys`, `registry_in_force`, `report_weights`, `open_days` and `figures`; and
`tally_transfer`, with `tally_file`, takes tallies from one collector to another.
`tally_invariants` says of a damaged tally that it is, and `checksum` of a backup.
"""
