"""Statistics: arrays in, arrays out, without a store and without HTTP.

Read `tally` (what is counted) and `estimates` (what is told); then `mechanisms`, each of which
makes one into the other by `estimation` (pure protocols), `cohorts` (hashed values of a closed
domain) or `decoding` (any text). `intervals` and `postprocessing` say how far estimates may be off
and what may be made of them, `authenticity` whether reports look like perturbed answers. `noise` is
how far shares scatter around the truth, `transforms` are exact sums.
"""
