"""What either way of decoding hands over to be judged."""

from __future__ import annotations

from dataclasses import dataclass

from rumor_server.statistics.decoding.sketch import Floats


@dataclass(frozen=True, slots=True)
class Answer:
    """Shares of all candidates as one way of decoding found them; arrays are (candidates,).

    `estimate` is signed, with `variance` were the population drawn at random. `p_value` is of the
    hypothesis that nobody has the value. `fitted` is non-negative. `drawn` are the shares that the
    weights were made at. `other` is the mass no candidate explains, with its variance.
    """

    estimate: Floats
    variance: Floats
    p_value: Floats
    fitted: Floats
    drawn: Floats
    other: float
    other_variance: float
    survivors: int
    iterations: int
    converged: bool
    unconstrained: bool
    dispersion: float
