"""What a client in another language is measured by: vectors, and a collector that judges.

The page is docs/protocol.md; the vectors are docs/protocol-vectors.json, printed by
`rumor conformance vectors`; the collector is `rumor conformance serve`.
"""
