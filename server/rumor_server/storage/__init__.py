"""Where tallies, ids and spend are kept: one protocol, and one file of SQL for each database."""
