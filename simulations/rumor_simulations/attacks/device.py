"""A device for attacks: the client's own perturbation and memo, without consent or budget.

It answers as often as it is asked, since an attack measures what many answers give away.
"""

from __future__ import annotations

import random

from rumor_client.perturbation.perturb import Answer, new_secret, perturb
from rumor_client.perturbation.randomness import Randomness
from rumor_client.state.memory import MemoryState
from rumor_shared.metric import Metric


class Device:
    """One device, its secret and its memory of permanent answers.

    `noise` is a seeded source, so that a run can be repeated: for simulations only.
    """

    def __init__(self, noise: random.Random) -> None:
        self._noise = noise
        self._live = Randomness(noise.randbytes)
        self._state = MemoryState()
        with self._state.transaction() as transaction:
            self._identity = transaction.set_identity(*new_secret(self._live))

    def answer(self, metric: Metric, text: str) -> Answer:
        """Return one more report of `metric`, of the canonical text that the device holds now."""
        with self._state.transaction() as transaction:
            return perturb(metric, text, self._identity, transaction, self._live)
