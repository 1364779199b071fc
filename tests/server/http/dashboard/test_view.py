"""The address of a page: read strictly, written in one shortest form."""

from datetime import date, timedelta
from urllib.parse import parse_qsl

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumor_server.errors import BadRequest
from rumor_server.http.dashboard.view import MAX_FOLLOWED, Part, Sort, View, parse_view
from rumor_server.http.problem import status_of

DAYS = st.dates(date(2000, 1, 1), date(2100, 1, 1))
TEXTS = st.text(min_size=1, max_size=30)


@given(
    view=st.builds(
        View,
        first=st.none() | DAYS,
        last=st.none() | DAYS,
        revision=st.none() | st.integers(1, 9),
        alpha=st.floats(1e-9, 0.999),
        candidates=st.none() | st.just("0" * 64),
        top=st.integers(1, 100),
        sort=st.sampled_from(Sort),
        page=st.integers(1, 2000),
        find=st.just("") | TEXTS,
        followed=st.lists(TEXTS, max_size=MAX_FOLLOWED, unique=True).map(tuple),
        shows=st.none() | st.floats(1e-9, 100),
        trend=st.booleans(),
        part=st.sampled_from(Part),
    )
)
def test_comes_back_from_its_own_address(view: View) -> None:
    """A permalink holds the whole view, and writes it in the same way each time."""
    assume(not (view.first and view.last and view.first > view.last))
    query = view.query()
    again = parse_view(parse_qsl(query, keep_blank_values=True))
    assert again == view
    assert again.query() == query


def test_leaves_out_what_nobody_chose() -> None:
    """The default view has no query, and a form's empty fields are as good as none."""
    assert View().query() == ""
    assert parse_view([("from", ""), ("find", ""), ("value", "")]) == View()


def test_takes_a_value_once() -> None:
    """A value that a form sends again keeps its first place."""
    view = parse_view([("value", text) for text in ("b", "a", "b", "c")])
    assert view.followed == ("b", "a", "c")


def test_compares_periods_that_share_no_day() -> None:
    """Both periods are given, and neither side can do without a bound towards the other."""
    pairs = [("compare_from", "2026-11-01"), ("compare_to", "2026-11-07")]
    view = parse_view([*pairs, ("from", "2026-11-08")])
    assert view.compares
    assert view.before_last == date(2026, 11, 8) - timedelta(days=1)
    assert parse_view([*pairs, ("to", "2026-10-31")]).compares


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("from=2026-02-30", "query.from"),
        ("to=20261130", "query.to"),
        ("from=2026-11-30&to=2026-11-29", "query.from"),
        ("from=2026-11-30&from=2026-11-30", "query.from"),
        ("compare_from=2026-11-01", "query.compare_from"),
        ("compare_from=2026-11-09&compare_to=2026-11-01", "query.compare_from"),
        ("compare_from=2026-11-01&compare_to=2026-11-07", "query.compare_to"),
        ("compare_from=2026-11-01&compare_to=2026-11-07&from=2026-11-07", "query.compare_to"),
        ("revision=0", "query.revision"),
        ("revision=1.0", "query.revision"),
        ("revision=%C2%B2", "query.revision"),
        ("revision=" + "9" * 5000, "query.revision"),
        ("alpha=0", "query.alpha"),
        ("alpha=nan", "query.alpha"),
        ("alpha=1e999", "query.alpha"),
        ("alpha=0.0_5", "query.alpha"),
        ("alpha=1e-13", "query.alpha"),
        ("alpha=%D9%A0.1", "query.alpha"),
        ("shows=1_0", "query.shows"),
        ("candidates=abc", "query.candidates"),
        ("candidates=../../etc/passwd", "query.candidates"),
        ("top=0", "query.top"),
        ("top=101", "query.top"),
        ("sort=secret", "query.sort"),
        ("page=0", "query.page"),
        ("page=99999999999", "query.page"),
        ("shows=-1", "query.shows"),
        ("shows=inf", "query.shows"),
        ("trend=maybe", "query.trend"),
        ("part=secret", "query.part"),
        ("find=" + "x" * 5000, "query.find"),
        ("&".join(f"value={i}" for i in range(7)), "query.value"),
        ("secret=1", "query"),
    ],
)
def test_names_the_parameter_that_is_wrong(query: str, named: str) -> None:
    """What is wrong is named by its parameter, and never repeated."""
    with pytest.raises(BadRequest) as caught:
        parse_view(parse_qsl(query, keep_blank_values=True))
    assert status_of(caught.value) == 400
    assert caught.value.detail.startswith(f"{named}:")
    assert "secret" not in caught.value.detail
    assert "passwd" not in caught.value.detail
