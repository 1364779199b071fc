"""From RAPPOR's own files to estimates: how common each candidate of the map is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor_server.rappor_import.files import (
    FilePath,
    RapporCounts,
    RapporFileError,
    RapporParams,
    read_counts,
    read_params,
)
from rumor_server.rappor_import.map import CandidateMap, read_map
from rumor_server.statistics.decoding import Correction, decode_sketch
from rumor_server.statistics.decoding.selection import select
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_shared.rappor_md5 import RapporClient

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BOOLEAN = ("TRUE", "FALSE")
COLUMNS = (
    "value",
    "estimate",
    "frequency",
    "std_error",
    "low",
    "high",
    "p_value",
    "significant",
)


@dataclass(frozen=True, eq=False)
class ImportedEstimates:
    """Estimates from `n` reports; arrays have one entry a value, or none where n = 0.

    All but `p_value` and `significant` are shares of 1, signed and unbiased. `low` and `high` are
    adjusted for the selection where `significant` (false coverage rate), `pointwise_low` and
    `pointwise_high` are not. `unexplained` is the share of reports that no candidate accounts for;
    None where n = 0 and for a boolean.
    """

    values: tuple[str, ...]
    n: int
    frequency: Floats
    std_error: Floats
    low: Floats
    high: Floats
    pointwise_low: Floats
    pointwise_high: Floats
    p_value: Floats
    significant: Bools
    unexplained: float | None = None
    unexplained_std_error: float | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dict a value, the commonest first; None for all that n = 0 leaves open.

        `estimate` is the frequency times n: the debiased number of reports.
        """
        names = (*COLUMNS[2:], "pointwise_low", "pointwise_high")
        if not self.n:
            for value in self.values:
                yield {"value": value, "estimate": None, **dict.fromkeys(names)}
            return
        for i in np.argsort(-self.frequency, kind="stable").tolist():
            row: dict[str, Any] = {
                "value": self.values[i],
                "estimate": float(self.frequency[i]) * self.n,
            }
            for name in names:
                row[name] = getattr(self, name)[i].item()
            yield row


def import_rappor(
    params_path: FilePath,
    counts_path: FilePath,
    map_path: FilePath | None,
    *,
    client: RapporClient = RapporClient.EXACT,
    alpha: float = 0.05,
    correction: Correction = "fdr",
) -> tuple[ImportedEstimates, RapporCounts]:
    """Read RAPPOR's files and estimate each candidate; the counts come along as they were read.

    `client` says whose effective f made the reports. k = 1 is a boolean: it needs no map, and its
    values are TRUE and FALSE. Raises RapporFileError.
    """
    params = read_params(params_path)
    set_rate, clear_rate = params.rates(client)
    if set_rate == clear_rate:
        raise RapporFileError(
            params_path,
            None,
            "p equals q, or f is 1 for this client, so the reports say nothing",
            "correct the parameters",
        )
    counted = read_counts(counts_path, params)
    if params.bits == 1:
        return _decode_boolean(counted, set_rate, clear_rate, alpha, correction), counted
    if map_path is None:
        raise RapporFileError(
            params_path, None, f"k = {params.bits} needs the candidates", "give the map"
        )
    if params.hashes >= params.bits:
        raise RapporFileError(
            params_path,
            None,
            f"h = {params.hashes} hashes fill all k = {params.bits} bits",
            "correct h or k: such filters tell no candidates apart",
        )
    known = read_map(map_path, params)
    return _decode(params, counted, known, set_rate, clear_rate, alpha, correction), counted


def _decode(
    params: RapporParams,
    counted: RapporCounts,
    known: CandidateMap,
    set_rate: Fraction,
    clear_rate: Fraction,
    alpha: float,
    correction: Correction,
) -> ImportedEstimates:
    counts = counted.counts
    if set_rate < clear_rate:
        # Reports turned round: their zeros speak for a candidate.
        counts = counted.reports[:, None] - counts
        set_rate, clear_rate = 1 - set_rate, 1 - clear_rate
    decoded = decode_sketch(
        counts,
        counted.reports,
        float(set_rate),
        float(clear_rate),
        known.positions,
        len(known.values),
        hashes=params.hashes,
        alpha=alpha,
        correction=correction,
    )
    if decoded is None:
        return _nothing(known.values)
    chosen = decoded.selected
    return ImportedEstimates(
        values=known.values,
        n=decoded.reports,
        frequency=decoded.estimate,
        std_error=decoded.std_error,
        low=np.where(chosen, decoded.selected_low, decoded.low),
        high=np.where(chosen, decoded.selected_high, decoded.high),
        pointwise_low=decoded.low,
        pointwise_high=decoded.high,
        p_value=decoded.p_value,
        significant=chosen,
        unexplained=decoded.unexplained,
        unexplained_std_error=decoded.unexplained_std_error,
    )


def _decode_boolean(
    counted: RapporCounts,
    set_rate: Fraction,
    clear_rate: Fraction,
    alpha: float,
    correction: Correction,
) -> ImportedEstimates:
    """Closed form: one bit, set for TRUE; cohorts tell nothing."""
    n, ones = int(counted.reports.sum()), int(counted.counts.sum())
    if not n:
        return _nothing(BOOLEAN)
    both = [
        estimate_pure((value,), np.array([count]), n, p, q, alpha=alpha, comparisons=len(BOOLEAN))
        for value, count, p, q in (
            (BOOLEAN[0], ones, set_rate, clear_rate),
            (BOOLEAN[1], n - ones, 1 - clear_rate, 1 - set_rate),
        )
    ]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in both])

    chosen = select(joined("p_value"), alpha, correction)
    # Of two intervals, one that was selected is widened to alpha / 2; two are not widened.
    wide = chosen & (chosen.sum() == 1)
    return ImportedEstimates(
        values=BOOLEAN,
        n=n,
        frequency=joined("frequency"),
        std_error=joined("std_error"),
        low=np.where(wide, joined("simultaneous_low"), joined("low")),
        high=np.where(wide, joined("simultaneous_high"), joined("high")),
        pointwise_low=joined("low"),
        pointwise_high=joined("high"),
        p_value=joined("p_value"),
        significant=chosen,
    )


def _nothing(values: tuple[str, ...]) -> ImportedEstimates:
    none = np.zeros(0)
    return ImportedEstimates(
        values, 0, none, none, none, none, none, none, none, np.zeros(0, dtype=np.bool_)
    )
