"""Google's RAPPOR files and its hashing, read as their own programs mean them.

Read `files` (parameters and counts), `map` (candidates and their bits), `analysis` (from both to
estimates).
"""
