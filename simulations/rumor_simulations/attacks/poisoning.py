"""Poisoning: how far fake devices move an estimate (Cao, Jia, Gong, USENIX Security 2021).

    random items (RIA)      a fake takes a random target and perturbs it as an honest device does
    random reports (RPA)    a fake sends any report, all equally likely
    maximal gain (MGA)      a fake sends the report that supports most targets
    maximal gain, hidden    the same, with as many bits set as an honest report has on average, so
                            that no test of a report's weight finds it

The gain is the rise of the targets' summed estimates. Of a fraction b of fakes, each supporting s
of r targets on average, a pure mechanism's is b (s - r q)/(p - q) - b f, f being the targets' true
share: s = 1 report of a target for RIA gives b (1 - f) whatever the mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import cast

import numpy as np

from rumor_client.perturbation.randomness import Randomness
from rumor_server.statistics.estimation import estimate_metric, norm_sub
from rumor_server.statistics.tally import Tally
from rumor_shared.bits import encode_bits
from rumor_shared.mechanism import Mechanism, mechanism_module
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.mechanisms.pgr import Pgr
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric
from rumor_shared.probability import as_fraction
from rumor_simulations.audit.trials import pooled_randomness
from rumor_simulations.crowd import Crowd, crowd_tally, evidence

# Reports of a fake, for one of an honest device, where no budget is kept.
UNCAPPED = 10


class Poison(StrEnum):
    """How fakes choose what they send."""

    RANDOM_ITEMS = "random items"
    RANDOM_REPORTS = "random reports"
    MAXIMAL = "maximal gain"
    HIDDEN = "maximal gain, hidden"


@dataclass(frozen=True)
class Gain:
    """The gain of one attack: simulated, its standard error, and by formula; shares of 1.

    `consistent` is the simulated gain of estimates brought to the simplex by Norm-Sub; `uncapped`
    the formula's if each fake could send ten reports where an honest device sends one.
    """

    poison: Poison
    gain: float
    std_error: float
    predicted: float
    consistent: float
    uncapped: float


def rates(mechanism: Mechanism) -> tuple[Fraction, Fraction] | None:
    """Return p and q of a mechanism that is pure over a closed domain, else None."""
    match mechanism:
        case Binary():
            keep = as_fraction(mechanism.keep)
            return keep, 1 - keep
        case Krr() | Unary() | Subset() | Hadamard() | Pgr():
            return mechanism.p, mechanism.q
        case Rappor(values=values) if values is not None:
            return mechanism.q_star, mechanism.p_star
        case _:
            return None


def poisoning(
    metric: Metric,
    crowd: Crowd,
    targets: Sequence[str],
    fraction: float,
    runs: int,
    rng: np.random.Generator,
) -> list[Gain]:
    """Return the gain of each attack by `fraction` of all devices on `targets`.

    `crowd` are the honest devices. Raises ValueError for a mechanism that `rates` does not know.
    """
    pair = rates(metric.mechanism)
    if pair is None:
        raise ValueError(f"metric {metric.name!r} is not of a pure mechanism over a closed domain")
    fakes = round(crowd.n * fraction / (1 - fraction))
    share = fakes / (fakes + crowd.n)
    p, q = (float(rate) for rate in pair)
    truth = float(crowd.in_domain(metric)[[metric.indices[t] for t in targets]].sum() / crowd.n)
    found = []
    for poison in Poison:
        gains, consistent, supported = [], [], 0.0
        for _ in range(runs):
            payloads = craft(metric, poison, targets, fakes, rng)
            supported += _supported(metric, payloads, targets) / runs
            honest = crowd_tally(metric, crowd, rng)
            raw, projected = _gains(metric, honest, honest + _tally(metric, payloads), targets)
            gains.append(raw)
            consistent.append(projected)
        predicted = share * (supported - len(targets) * q) / (p - q) - share * truth
        many = UNCAPPED * share / (1 + (UNCAPPED - 1) * share)
        found.append(
            Gain(
                poison,
                float(np.mean(gains)),
                float(np.std(gains, ddof=1) / runs**0.5) if runs > 1 else 0.0,
                predicted,
                float(np.mean(consistent)),
                predicted * many / share,
            )
        )
    return found


def craft(
    metric: Metric, poison: Poison, targets: Sequence[str], fakes: int, rng: np.random.Generator
) -> list[bytes]:
    """Return the payloads of `fakes` devices."""
    if poison is Poison.RANDOM_ITEMS:
        return _items(metric, targets, fakes, rng)
    if poison is Poison.RANDOM_REPORTS:
        return _reports(metric, fakes, rng)
    return _maximal(metric, targets, fakes, rng, hidden=poison is Poison.HIDDEN)


def _items(
    metric: Metric, targets: Sequence[str], fakes: int, rng: np.random.Generator
) -> list[bytes]:
    module = mechanism_module("rumor_client.perturbation", metric.mechanism.name)
    live: Randomness = pooled_randomness()
    made = []
    for i in rng.integers(len(targets), size=fakes).tolist():
        if metric.mechanism.memoised:
            answer = module.permanent(metric, targets[i], 0, live)
            made.append(module.instantaneous(metric, answer, live))
        else:
            made.append(module.perturb(metric, targets[i], 0, live))
    return made


def _reports(metric: Metric, fakes: int, rng: np.random.Generator) -> list[bytes]:
    mechanism = metric.mechanism
    match mechanism:
        case Unary() | Rappor():
            bits = rng.integers(2, size=(fakes, mechanism.cells), dtype=np.uint8)
            return _rows(np.packbits(bits, axis=1, bitorder="little"))
        case Subset():
            k, w = len(mechanism.values), mechanism.size
            return [mechanism.encode(set(rng.permutation(k)[:w].tolist())) for _ in range(fakes)]
        case _:
            return _numbers(mechanism, rng.integers(_outputs(mechanism), size=fakes).tolist())


def _maximal(
    metric: Metric, targets: Sequence[str], fakes: int, rng: np.random.Generator, *, hidden: bool
) -> list[bytes]:
    mechanism = metric.mechanism
    own = [metric.indices[target] for target in targets]
    match mechanism:
        case Unary() | Rappor():
            return _bits(mechanism, own, fakes, rng, hidden=hidden)
        case Subset():
            return _sets(mechanism, own, fakes, rng)
        case _:
            numbers = _numbers(mechanism, list(range(_outputs(mechanism))))
            octets = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(len(numbers), -1)
            cohorts = np.zeros(len(numbers), dtype=np.int64)
            support = (evidence(metric, octets, cohorts, tuple(targets)) > 0).sum(axis=1)
            best = np.flatnonzero(support == support.max())
            return [numbers[i] for i in rng.choice(best, size=fakes).tolist()]


def _bits(
    mechanism: Unary | Rappor,
    own: list[int],
    fakes: int,
    rng: np.random.Generator,
    *,
    hidden: bool,
) -> list[bytes]:
    """Set the targets' bits; hidden, so many others that the weight is an honest report's mean."""
    vectors = np.zeros((fakes, mechanism.cells), dtype=np.uint8)
    vectors[:, own] = 1
    if hidden:
        p, q = cast(tuple[Fraction, Fraction], rates(mechanism))
        weight = round(float(p + (mechanism.cells - 1) * q))
        others = np.setdiff1d(np.arange(mechanism.cells), own)
        more = min(len(others), max(0, weight - len(own)))
        for vector in vectors:
            vector[rng.choice(others, size=more, replace=False)] = 1
            if weight < len(own):
                vector[rng.choice(own, size=len(own) - weight, replace=False)] = 0
    return _rows(np.packbits(vectors, axis=1, bitorder="little"))


def _sets(mechanism: Subset, own: list[int], fakes: int, rng: np.random.Generator) -> list[bytes]:
    others = np.setdiff1d(np.arange(len(mechanism.values)), own)
    made = []
    for _ in range(fakes):
        inside = rng.permutation(own)[: mechanism.size].tolist()
        filled = rng.permutation(others)[: mechanism.size - len(inside)].tolist()
        made.append(mechanism.encode({*inside, *filled}))
    return made


def _outputs(mechanism: Mechanism) -> int:
    return 2 if isinstance(mechanism, Binary) else mechanism.cells


def _numbers(mechanism: Mechanism, numbers: Sequence[int]) -> list[bytes]:
    return [number.to_bytes(mechanism.payload_bytes, "little") for number in numbers]


def _rows(octets: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> list[bytes]:
    return [row.tobytes() for row in octets]


def _supported(metric: Metric, payloads: Sequence[bytes], targets: Sequence[str]) -> float:
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
    scores = evidence(metric, octets, np.zeros(len(payloads), dtype=np.int64), tuple(targets))
    nothing = encode_bits(0, 8 * metric.mechanism.payload_bytes)
    zero = np.frombuffer(nothing, dtype=np.uint8)[None, :]
    if isinstance(metric.mechanism, Rappor):
        # A clear bit speaks against a value: only what exceeds it is support.
        scores = scores - evidence(metric, zero, np.zeros(1, dtype=np.int64), tuple(targets))
    return float((scores > 1e-9).sum(axis=1).mean())


def _tally(metric: Metric, payloads: Sequence[bytes]) -> Tally:
    mechanism = metric.mechanism
    for payload in payloads[:1]:
        mechanism.check_payload(payload)
    adding = mechanism_module("rumor_server.statistics", mechanism.name).tally
    return Tally(np.array([len(payloads)]), adding(mechanism, payloads)[None, :])


def _gains(
    metric: Metric, honest: Tally, poisoned: Tally, targets: Sequence[str]
) -> tuple[float, float]:
    """Return by how much the targets' sum rises, raw and after Norm-Sub."""
    own = [metric.indices[target] for target in targets]
    before, after = (estimate_metric(metric, tally).frequency for tally in (honest, poisoned))
    raw = (after - before)[own].sum()
    projected = (norm_sub(after) - norm_sub(before))[own].sum()
    return float(raw), float(projected)
