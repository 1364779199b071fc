"""Decoding of cohort sketches: how common each candidate is, from how often each cell was set.

RAPPOR's Bloom filters, local hashing over public cohorts and count mean sketches all tally cohorts
x cells, and one engine reads them. The story runs through the modules in this order: `sketch` (what
is given), `candidates` (sparse columns, streamed, and which of them are two that are one),
`covariance` (how cells vary together), `prior` (shares are positive), `overdetermined` (few
candidates for the cells: least squares), `underdetermined` (many: `normal_equations`,
`message_passing`, `screen`, `least_squares`), `selection` (whom to call present) and `decode` (both
ways as one, and what was found as estimates).
"""

from rumor_server.statistics.decoding.candidates import Positions
from rumor_server.statistics.decoding.decode import DecodedSketch, Diagnostics, decode_sketch
from rumor_server.statistics.decoding.selection import Correction
from rumor_server.statistics.decoding.sketch import Law, SketchError

__all__ = [
    "Correction",
    "DecodedSketch",
    "Diagnostics",
    "Law",
    "Positions",
    "SketchError",
    "decode_sketch",
]
