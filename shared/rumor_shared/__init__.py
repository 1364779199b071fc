"""The contract between device and collector, the one thing both sides import.

Read `registry`, `metric` and `fields` (what is asked, read field by field), then `mechanism`, one
of `mechanisms` and `part` (what a mechanism is in every room), with `probability` and `epsilon`
(exact numbers), and `budget` (which accounts a report is charged to). `text`, `unicode_13` and
`hashing` say which bits a value sets, `rappor_md5` as Google's clients did, `bits` how they travel;
`wire`, `days` and `version` are what both sides say to each other. `errors` are raised on purpose;
`faults` finds all that are wrong with a registry. `console`, `standard_streams`, `overview`,
`completion` and `os_errors` are the command line's.
"""
