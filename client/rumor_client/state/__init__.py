"""What a device remembers: one protocol, and two stores behind it.

Order of reading: `protocol` (what a transaction reads and writes), `report` (what it stores of
one), `memory` (in dictionaries), then the SQLite file: `sqlite_schema`, `sqlite_transaction` (all
SQL), `sqlite_state` (the connection), `file_lock` (whose turn it is to upload), `paths` (where the
file lies).
"""
