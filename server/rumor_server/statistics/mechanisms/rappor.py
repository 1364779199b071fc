"""RAPPOR: one bit a value (`basic_rappor`), or Bloom filters by cohort for any text (`rappor`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.candidate_hashing import (
    Candidates,
    hash_candidates,
    positions,
    salts,
)
from rumor_server.statistics.cohorts.md5_hashing import md5_positions
from rumor_server.statistics.decoding import Positions, decode_sketch
from rumor_server.statistics.decoding.decode import decoded_estimates
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, bit_sums, group_bits
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.intervals.count_law import CountLaw, Counts, count_law
from rumor_server.statistics.intervals.significance import check_alpha
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, bit_tally
from rumor_shared.mechanisms.rappor import RAPPOR_MD5, Rappor
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import as_fraction


class RapporEstimator(Part[Rappor], Estimator):
    """Tallies and estimates RAPPOR and basic RAPPOR."""

    takes = Rappor

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (bits,): in how many of one cohort's checked payloads each bit is set."""
        return bit_tally(payloads, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value of a closed domain, or of each candidate.

        A candidate given twice has one row; no candidates give no rows. `repeats` bounds the
        reports of one device; it widens the rows of a closed domain, while a decode measures the
        scatter itself. Raises CandidateError for a candidate that no device could have recorded.
        """
        mechanism = self.mechanism
        if mechanism.values is None:
            return _decode(self.metric, mechanism, tally, candidates or (), alpha)
        if repeats > 1 and mechanism.memoised and tally.n:
            p1, p0 = mechanism.q_star, mechanism.p_star
            law, counts = count_law(tally.n, p1, p0, tally.counts[0])
            return _repeated(mechanism, mechanism.values, law, counts, alpha, repeats)
        return estimate_pure(
            mechanism.values,
            tally.counts[0],
            tally.n,
            mechanism.q_star,
            mechanism.p_star,
            alpha=alpha,
        )

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values of a closed domain.

        `repeats` bounds the reports of one device, as in `estimate`.
        """
        mechanism, counts, n = self.mechanism, tally.counts[0], tally.n
        p1, p0 = mechanism.q_star, mechanism.p_star
        if repeats > 1 and mechanism.memoised and n:
            check_alpha(alpha)
            law, sums = bit_sums(self.metric, counts, n, p1, p0, groups)
            return _repeated(mechanism, tuple(groups), law, sums, alpha, repeats)
        return group_bits(self.metric, counts, n, p1, p0, groups, alpha=alpha)


def _repeated(
    mechanism: Rappor,
    names: tuple[str, ...],
    law: CountLaw,
    counts: Counts,
    alpha: float,
    repeats: int,
) -> Estimates:
    """The permanent noise of a device comes again with each of its reports and doesn't average out.

    Of T reports of one device, variance h (1 - h) / (1 - 2h)^2 each (h = f/2) is common to all: a
    mean over n reports has (T - 1) times it on top of what independent reports have. A sum over g
    values has it g times, once for each bit.
    """
    slope, absent = law.variance_terms()
    h = float(as_fraction(mechanism.half_f))
    common = (repeats - 1) * h * (1 - h) / (law.n * (1 - 2 * h) ** 2)
    bits = law.trials / law.n
    return estimate_normal(
        names, law.n, law.frequency(counts), absent + common * bits, slope, alpha=alpha
    )


def _decode(
    metric: Metric, mechanism: Rappor, tally: Tally, texts: Sequence[str], alpha: float
) -> Estimates:
    check_alpha(alpha)
    known = hash_candidates(texts)
    if not known.texts:
        return Estimates.empty((), alpha, n=tally.n)
    cells = _positions(metric, mechanism, known)
    counts, p1, p0 = tally.counts, mechanism.q_star, mechanism.p_star
    if p1 < p0:
        # A filter that is turned round: its zeros support.
        counts, p1, p0 = tally.reports[:, None] - counts, 1 - p1, 1 - p0
    decoded = decode_sketch(
        counts,
        tally.reports,
        float(p1),
        float(p0),
        cells,
        len(known.texts),
        hashes=mechanism.hashes,
        alpha=alpha,
        correction="bonferroni",
    )
    return decoded_estimates(known.texts, tally.n, alpha, decoded, closed=False)


def _positions(metric: Metric, mechanism: Rappor, known: Candidates) -> Positions:
    """Return which bits candidates set, by the hashing of the metric."""
    if mechanism.hashing == RAPPOR_MD5:
        return md5_positions(known.texts, mechanism)
    salted = salts(metric.key, mechanism.cohorts, mechanism.hashes)

    def cells(start: int, stop: int) -> NDArray[np.int64]:
        part = slice(start, stop)
        return positions(known.first[part], known.second[part], salted, mechanism.bits)

    return cells
