"""Every fault of a registry is named at once, and what was probably meant."""

from __future__ import annotations

import pytest
from tests.shared.test_registry import GOOD

from rumor_shared.errors import RegistryError
from rumor_shared.registry import parse_registry


def faults(text: str) -> dict[str, str]:
    """What is wrong with a registry, each path with its advice."""
    with pytest.raises(RegistryError) as caught:
        parse_registry(text.encode())
    return {problem.path: problem.fix for problem in caught.value.problems}


def test_every_fault_is_told_at_once() -> None:
    """D-12: each field that is wrong is named in one go, of metrics and of [registry] alike."""
    wrong = (
        GOOD.replace("revision = 3", "revision = 0")
        .replace("epsilon = 1.5", "epsilon = -1")
        .replace('owner = "design@example.org"\n', "")
        .replace("expires = 2027-12-31", 'expires = "2027"')
        .replace("hashes = 2", "hashes = 2\nhashs = 3\nbitz = 4")
        .replace("cohorts = 32", "cohorts = 33")
        .replace("max_age_days = 5", "max_age_days = 5000")
        .replace("daily_epsilon = 8.0", "daily_epsilon = 8.0\nmax_age = 1")
    )
    assert set(faults(wrong)) == {
        "metrics.theme.revision",
        "metrics.theme.epsilon",
        "metrics.theme.owner",
        "metrics.theme.expires",
        "metrics.browser.cohorts",
        "metrics.browser.hashs",
        "metrics.browser.bitz",
        "registry.max_age_days",
        "registry.max_age",
    }


def test_what_is_nearly_right_is_asked_back() -> None:
    """Mechanisms, values, choices and fields: the nearest is named, and what is allowed."""
    found = faults(
        GOOD.replace('"krr"', '"kkr"').replace("hashes = 2", 'hashing = "rappor_md"\nhashs = 2')
    )
    assert found["metrics.theme.mechanism"].startswith("did you mean 'krr'? Else choose one of ")
    assert "basic_rappor" in found["metrics.theme.mechanism"]
    assert found["metrics.browser.hashing"] == (
        "did you mean 'rappor_md5'? Else choose mix, rappor_md5"
    )
    assert faults(GOOD.replace('other = "other"', 'other = "Other"'))["metrics.theme.other"] == (
        "did you mean 'other'? Else add it to `values`"
    )
    assert faults(GOOD.replace("max_age_days", "max_age_day"))["registry.max_age_day"] == (
        "did you mean 'max_age_days'? Else remove it"
    )
    assert "did you mean" not in faults(GOOD.replace('"krr"', '"zzz"'))["metrics.theme.mechanism"]


def test_what_rests_on_a_fault_is_not_told() -> None:
    """One mistake is one problem: what several fields say together waits until each is sound."""
    assert set(faults(GOOD.replace("epsilon = 1.5", 'epsilon = "much"\ndaily_epsilon = 1'))) == {
        "metrics.theme.epsilon"
    }
    assert set(faults(GOOD.replace('"krr"', "krr = 1").replace("krr = 1", "7"))) == {
        "metrics.theme.mechanism"
    }
    assert set(
        faults(GOOD.replace('values = ["light", "dark", "café", "other"]', "values = 3"))
    ) == {"metrics.theme.values"}
