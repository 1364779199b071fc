"""Conformance: vectors and a collector that judge a client in another language.

Read `rules` (what is asked of a client), `script` (the situations that it meets), `registry`,
`judge` and `server` (the collector), `vectors`. The page is docs/protocol.md; the vectors are
docs/protocol-vectors.json, printed by `rumor conformance vectors`; the collector is
`rumor conformance serve`.
"""
