"""The post-processed column: shares that look like shares, beside raw ones that are the truth."""

import numpy as np
import pytest

from rumor_server.queries.rows import post_processed
from rumor_server.statistics.estimation import Estimates


def estimates(frequency: list[float], unexplained: float | None) -> Estimates:
    """Estimates of some raw shares."""
    column = np.array(frequency)
    return Estimates(
        values=tuple("abc"),
        n=100,
        alpha=0.05,
        frequency=column,
        std_error=column * 0 + 0.1,
        low=column - 0.2,
        high=column + 0.2,
        simultaneous_low=column - 0.3,
        simultaneous_high=column + 0.3,
        p_value=column * 0 + 0.5,
        significant=column > 0.3,
        unexplained=unexplained,
        unexplained_std_error=None if unexplained is None else 0.1,
    )


def test_adds_up_to_one_where_the_list_is_complete() -> None:
    """A closed domain's shares are not below 0 and 1 together."""
    shares = post_processed(estimates([0.7, 0.5, -0.1], None))
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(("unexplained", "total"), [(0.4, 0.6), (-0.3, 1.0)])
def test_leaves_room_for_what_no_candidate_explains(unexplained: float, total: float) -> None:
    """A short list is not blown up to 1, and an over-full one is brought down to it."""
    raw = [0.3, 0.2, 0.1] if unexplained > 0 else [0.7, 0.5, 0.1]
    shares = post_processed(estimates(raw, unexplained))
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(total)
