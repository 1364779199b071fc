"""SQLite: one file, one writer.

Read `file` (how it is opened, made and upgraded), `open_files` (whether what is open is still at
its path), `store` (transactions and readers) and `statements` (the SQL of a commit); then `backup`,
and `tally_transfer`.
"""
