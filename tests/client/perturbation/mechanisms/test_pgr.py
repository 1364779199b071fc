"""Projective geometry response keeps the contract, and its geometry is what the paper says."""

from __future__ import annotations

from itertools import product
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import MechanismContract, letters, metric_with
from tests.client.perturbation.mechanisms.exact_law import report_law

from rumor_shared.errors import MalformedPayload, RegistryError
from rumor_shared.mechanisms.pgr import Pgr, canonical_vector, point_of
from rumor_shared.metric import Metric


class TestPgr(MechanismContract):
    """Projective geometry response."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Planes and lines over small fields, whole and partly used."""
        return [
            (metric_with("pgr", epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 4, 7, 13)
            for epsilon in (0.5, 1, 2)
        ]

    def wide_metric(self) -> Metric:
        """Two bytes."""
        return metric_with("pgr", epsilon=1, values=letters(300))


@pytest.mark.parametrize(("field", "dimension"), [(2, 3), (3, 2), (3, 4), (5, 3)])
def test_points_are_numbered_one_to_one(field: int, dimension: int) -> None:
    """Every non-zero vector lies on one point, and each point's vector on that point."""
    count = (field**dimension - 1) // (field - 1)
    numbers = [point_of(list(v), field) for v in product(range(field), repeat=dimension) if any(v)]
    assert sorted(set(numbers)) == list(range(count))
    assert len(numbers) == count * (field - 1)
    for point in range(count):
        assert point_of(canonical_vector(point, field, dimension), field) == point


def test_support_probabilities_are_p_and_q() -> None:
    """From the exact law: orthogonal to its own point with p, to any other's with q."""
    metric = metric_with("pgr", epsilon=1, values=letters(13), field=3)
    mechanism = cast(Pgr, metric.mechanism)
    assert (mechanism.field, mechanism.dimension, mechanism.points) == (3, 3, 13)
    law = report_law(metric, "v4", 0)
    for other in range(13):
        vector = canonical_vector(other, 3, 3)
        support = sum(
            probability
            for payload, probability in law.items()
            if sum(a * b for a, b in zip(vector, canonical_vector(payload[0], 3, 3), strict=True))
            % 3
            == 0
        )
        assert support == (mechanism.p if other == 4 else mechanism.q)


@pytest.mark.parametrize(
    ("epsilon", "field", "dimension", "variance"),
    [
        (0.5, 3, 7, 15.79),
        (1, 5, 6, 3.819),
        (2, 11, 4, 0.7382),
        (3, 23, 4, 0.2208),
        (4, 59, 3, 0.07547),
    ],
)
def test_published_variances(epsilon: float, field: int, dimension: int, variance: float) -> None:
    """With the authors' prime, k = 1024, the variance is the tabulated one; ours is no larger."""
    authors = metric_with("pgr", epsilon=epsilon, values=letters(1024), field=field)
    mechanism = cast(Pgr, authors.mechanism)
    assert mechanism.dimension == dimension
    assert float(mechanism.variance) == pytest.approx(variance, rel=1e-3)
    ours = cast(Pgr, metric_with("pgr", epsilon=epsilon, values=letters(1024)).mechanism)
    assert ours.variance <= mechanism.variance


def test_point_outside_the_space_is_refused() -> None:
    """A plane over three elements has thirteen points."""
    mechanism = metric_with("pgr", epsilon=1, values=letters(13), field=3).mechanism
    with pytest.raises(MalformedPayload, match="0 to 12"):
        mechanism.check_payload(b"\x0d")


def test_field_must_be_prime() -> None:
    """A field of six elements does not exist."""
    with pytest.raises(RegistryError, match="not a prime"):
        metric_with("pgr", epsilon=1, values=letters(13), field=6)


def test_epsilon_beyond_any_tally_is_refused() -> None:
    """At epsilon 16 every suitable geometry has more points than a tally may have cells."""
    with pytest.raises(RegistryError, match="tally over"):
        metric_with("pgr", epsilon=16, values=letters(13))
