"""Play a crowd with the client's own code, one device at a time: slow, and beyond suspicion."""

from __future__ import annotations

import random

import numpy as np

from rumor_client.perturbation.randomness import Randomness
from rumor_server.statistics.mechanisms import tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.audit.client import installed_client
from rumor_simulations.crowd import Crowd

# Payloads held before they are added up.
_BLOCK = 1 << 14


def play_crowd(metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from every device, perturbed by the installed client.

    The noise is drawn from `rng`'s seed, so that a run can be repeated: for simulations only.
    """
    live = Randomness(random.Random(int(rng.integers(2**63))).randbytes)
    client, mechanism = installed_client(metric), metric.mechanism
    total = Tally.empty(mechanism)
    waiting: list[list[bytes]] = [[] for _ in range(mechanism.cohorts)]
    held = 0

    def add() -> None:
        for cohort, payloads in enumerate(waiting):
            if payloads:
                total.reports[cohort] += len(payloads)
                total.counts[cohort] += tally_of(metric, payloads)
                payloads.clear()

    for text, count in zip(crowd.texts, crowd.counts.tolist(), strict=True):
        for _ in range(count):
            cohort = live.below(mechanism.cohorts) if mechanism.cohorts > 1 else 0
            waiting[cohort].append(client.first_report(metric, text, cohort, live))
            held += 1
            if held % _BLOCK == 0:
                add()
    add()
    return total
