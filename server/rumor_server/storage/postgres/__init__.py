"""PostgreSQL: several nodes that ingest into one schema, `rumor`.

Read `connection` (what each one is opened with, and the upgrade), `store` (transactions and
readers) and `statements` (the SQL of a commit); then `backup`, and `tally_transfer`.
"""
