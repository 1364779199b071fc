"""What the client owes the process that it lives in: forks, imports, log and clock.

Order of reading: `fork`, `lazy_imports`, `log_once`, `clock`, `freezing`.
"""
