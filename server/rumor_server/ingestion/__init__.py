"""From a request to a decision: decode, screen, hash, admit, take back. No HTTP and no SQL is here.

Read `batch` (what a device sends, from its bytes), `screening` (what the registry and the day say
of it), `keyed_hashes` (what stands for ids and devices), `admission` (what is counted) and
`retraction` (what is taken back).
"""
