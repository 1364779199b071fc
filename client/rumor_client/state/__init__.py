"""What a device remembers: one protocol, and two stores behind it.

Order of reading: `protocol` (what a transaction reads and writes), `report` (what it stores of
one), `memory` (in dictionaries), then the SQLite file: `sqlite_schema`, `grant_file` (what a full
disk can't keep from being deleted), `sqlite_transaction` (all SQL), `sqlite_file` (opening and
setting aside), `sqlite_state` (the connection and its threads), `file_lock` (whose turn it is to
upload), `paths` (where the file lies), `absent` (where there is no place for one).
"""
