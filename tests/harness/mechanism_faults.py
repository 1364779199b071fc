"""Faults that published software had, or might, planted in the installed client."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

from rumor_client.perturbation.mechanisms.krr import KrrPerturber
from rumor_client.perturbation.mechanisms.rappor import RapporPerturber
from rumor_client.perturbation.mechanisms.subset import uniform_subset
from rumor_client.perturbation.mechanisms.unary import UnaryPerturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_simulations.audit.client import Client


def _true_bit_kept_twice(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    mechanism = Unary.of(metric.mechanism)
    vector = live.bits(len(mechanism.values), 0, 0, mechanism.clear_sets)
    if live.bernoulli(mechanism.set_stays):
        vector |= 1 << metric.indices[text]
    return encode_bits(vector, len(mechanism.values))


def _last_bit_in_clear(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    mechanism = Unary.of(metric.mechanism)
    k = len(mechanism.values)
    own, last = 1 << metric.indices[text], 1 << (k - 1)
    vector = live.bits(k, own, mechanism.set_stays, mechanism.clear_sets)
    return encode_bits(vector & ~last | own & last, k)


def _excluded_value_drawn_again(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    mechanism = Subset.of(metric.mechanism)
    truth, k = metric.indices[text], len(mechanism.values)
    if live.bernoulli(mechanism.keep):
        others = uniform_subset(k - 1, mechanism.size - 1, live)
        return mechanism.encode({truth} | {i + (i >= truth) for i in others})
    return mechanism.encode(uniform_subset(k, mechanism.size, live))


def _truth_in_the_first_slot(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    mechanism = Subset.of(metric.mechanism)
    truth, k = metric.indices[text], len(mechanism.values)
    if live.bernoulli(mechanism.keep):
        rest = sorted(uniform_subset(k - 1, mechanism.size - 1, live))
        return bytes([truth, *(i + (i >= truth) for i in rest)])
    return bytes(i + (i >= truth) for i in sorted(uniform_subset(k - 1, mechanism.size, live)))


def _kept_to_eight_bits(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    mechanism = Krr.of(metric.mechanism)
    step = ONE >> 8
    coarse = replace(mechanism, keep=(mechanism.keep + step // 2) // step * step)
    return KrrPerturber(replace(metric, mechanism=coarse)).perturb(text, cohort, live)


def _value_of_its_own(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """The last value stands for what is outside the domain, with an output nobody else emits."""
    mechanism = Krr.of(metric.mechanism)
    last = len(mechanism.values) - 1
    if metric.indices[text] == last:
        return bytes([last])
    return bytes([live.unless(mechanism.keep, metric.indices[text], last)])


def _shape_by_value(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """A list for the truth and a longer one for a lie."""
    mechanism = Hadamard.of(metric.mechanism)
    kept = live.bernoulli(mechanism.keep)
    return bytes([metric.indices[text]]) if kept else bytes([live.below(mechanism.columns), 0])


def _same_noise_always(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Every report draws from one seed, here one under which first and last value differ."""
    return UnaryPerturber(metric).perturb(text, cohort, Randomness(random.Random(3).randbytes))


def _bloom_bits_never_cleared(metric: Metric, answer: bytes, live: Randomness) -> bytes:
    mechanism = Rappor.of(metric.mechanism)
    vector = int.from_bytes(answer, "little")
    reported = live.bits(mechanism.bits, vector, ONE, mechanism.p_set)
    return encode_bits(reported, mechanism.bits)


def _set_bits_stay_for_good(
    metric: Metric, text: str, cohort: int, randomness: Randomness
) -> bytes:
    mechanism = Rappor.of(metric.mechanism)
    bloom = RapporPerturber(metric)._bloom(text, cohort)
    return encode_bits(
        randomness.bits(mechanism.bits, bloom, ONE, mechanism.half_f), mechanism.bits
    )


def _f_to_seven_bits(metric: Metric, text: str, cohort: int, randomness: Randomness) -> bytes:
    """One of Google's clients takes floor(128 f) / 128 for f."""
    mechanism = Rappor.of(metric.mechanism)
    step = ONE >> 8
    coarse = replace(mechanism, half_f=mechanism.half_f // step * step)
    return RapporPerturber(replace(metric, mechanism=coarse)).permanent(text, cohort, randomness)


def _hash_count_ignored(metric: Metric, answer: bytes, live: Randomness) -> bytes:
    """All of epsilon for each of the h bits of a value: p and q further apart than they may be."""
    mechanism = Rappor.of(metric.mechanism)
    gap = (ONE - mechanism.q_set) // 2
    wide = replace(mechanism, q_set=ONE - gap, p_set=gap)
    return RapporPerturber(replace(metric, mechanism=wide)).instantaneous(answer, live)


def _perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    return RapporPerturber(metric).perturb(text, cohort, live)


def _permanent(metric: Metric, text: str, cohort: int, randomness: Randomness) -> bytes:
    return RapporPerturber(metric).permanent(text, cohort, randomness)


def _instantaneous(metric: Metric, answer: bytes, live: Randomness) -> bytes:
    return RapporPerturber(metric).instantaneous(answer, live)


_memoised = partial(Client, _perturb)

# Mechanism and client of each fault whose epsilon is above what is declared at epsilon 1.
FAULTS: dict[str, tuple[str, Client]] = {
    "true bit kept with 1-(1-p)(1-q), sue": ("sue", Client(_true_bit_kept_twice)),
    "true bit kept with 1-(1-p)(1-q), oue": ("oue", Client(_true_bit_kept_twice)),
    "last bit of the vector in clear": ("oue", Client(_last_bit_in_clear)),
    "excluded value may be drawn again": ("subset", Client(_excluded_value_drawn_again)),
    "truth always in slot 0 of the set": ("subset", Client(_truth_in_the_first_slot)),
    "value maps to an output nobody else emits": ("krr", Client(_value_of_its_own)),
    "set Bloom bits never cleared": (
        "rappor",
        _memoised(_set_bits_stay_for_good, _bloom_bits_never_cleared),
    ),
    "hash count ignored": ("rappor", _memoised(_permanent, _hash_count_ignored)),
    "noise repeated in every report": ("sue", Client(_same_noise_always)),
}

# Too small to be seen in thousands of trials: only the exact law shows them.
FINE_FAULTS: dict[str, tuple[str, Client]] = {
    "p rounded to 8 bits": ("krr", Client(_kept_to_eight_bits)),
    "effective f differs": ("basic_rappor", _memoised(_f_to_seven_bits, _instantaneous)),
}

SHAPE_BY_VALUE = Client(_shape_by_value)
