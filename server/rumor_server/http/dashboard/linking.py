"""How far two days of one device's reports can be recognised as one device's, in bits.

A pseudonym lasts a day, but a kept cohort and a permanent answer last. With B the permanent bit and
S, T two reports of it, independent given B, what T says of S is their mutual information

    I(S; T) = sum over s, t of P[s, t] log2( P[s, t] / (P[s] P[t]) ),

and bits of a filter add up, as does the cohort (log2 of their number). X bits single one device out
of about 2^X that hold the same value (Cover, Thomas, "Elements of Information Theory", 2.3). It
takes someone who sees single reports: the server adds them up and keeps none.
"""

from __future__ import annotations

import math

from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.probability import as_fraction


def linking_bits(mechanism: Mechanism) -> float:
    """Return the bits that reports of two days share; 0 where nothing of a device is kept."""
    if not mechanism.memoised or not isinstance(mechanism, Rappor):
        return 0.0
    half_f, p, q = (
        float(as_fraction(x)) for x in (mechanism.half_f, mechanism.p_set, mechanism.q_set)
    )
    clear = (mechanism.bits - mechanism.hashes) * _shared(half_f, p, q)
    filled = mechanism.hashes * _shared(1 - half_f, p, q)
    return math.log2(mechanism.cohorts) + clear + filled


def _shared(one: float, p: float, q: float) -> float:
    """Return I(S; T) of two reports of a permanent bit that is 1 with probability `one`."""
    said = one * q + (1 - one) * p
    single = (1 - said, said)
    both = one * q * q + (1 - one) * p * p
    joint = ((1 - 2 * said + both, said - both), (said - both, both))
    return sum(
        joint[s][t] * math.log2(joint[s][t] / (single[s] * single[t]))
        for s in (0, 1)
        for t in (0, 1)
        if joint[s][t] > 0
    )
