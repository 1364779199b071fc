"""Who agreed to what: the owner's word, the machine's policy and the environment.

Order of reading: `policy` (who can only deny), `consent` (what holds, and what a denial deletes).
"""
