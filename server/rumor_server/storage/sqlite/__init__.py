"""SQLite: one file, one writer.

Read `file` (how it is opened, made and upgraded), `store` (transactions and readers) and
`statements` (the SQL of a commit); then `backup`, and `tally_transfer`.
"""
