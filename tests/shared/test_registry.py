"""A registry is read exactly, and each way it can be wrong is named by the field's path."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rumor_shared.errors import InvalidValue, RegistryError, UnknownMetric
from rumor_shared.registry import load_registry, parse_registry, registry_of

GOOD = """
[registry]
max_age_days = 5
daily_epsilon = 8.0

[metrics.theme]
revision = 3
mechanism = "krr"
epsilon = 1.5
values = ["light", "dark", "café", "other"]
other = "other"
owner = "design@example.org"
purpose = "product improvement"
expires = 2027-12-31

[metrics.browser]
revision = 1
mechanism = "rappor"
bits = 128
hashes = 2
cohorts = 32
f = 0.25
p = 0.25
q = 0.75
max_values = 1
owner = "web@example.org"
purpose = "compatibility"
expires = 2027-06-30
expected_devices = 20000
"""

BASE: dict[str, Any] = {
    "revision": 1,
    "mechanism": "krr",
    "epsilon": 1,
    "values": ["a", "b", "c"],
    "owner": "o",
    "purpose": "p",
    "expires": date(2030, 1, 1),
}
RAPPOR: dict[str, Any] = {
    **{k: v for k, v in BASE.items() if k not in ("epsilon", "values")},
    "mechanism": "rappor",
    "bits": 16,
    "f": 0.5,
    "p": 0.5,
    "q": 0.75,
}
MISSING = object()


def problem_of(table: dict[str, Any], **changes: Any) -> tuple[str, str]:
    """Return path and cause of the one problem of a metric with some fields changed."""
    changed = {k: v for k, v in {**table, **changes}.items() if v is not MISSING}
    with pytest.raises(RegistryError) as caught:
        registry_of({"metrics": {"m": changed}})
    (problem,) = caught.value.problems
    assert problem.fix
    assert str(problem) in str(caught.value)
    return problem.path, problem.what


def test_good_registry() -> None:
    """A registry gives its metrics with integer epsilon and its shared numbers."""
    registry = parse_registry(GOOD.encode())
    theme = registry.metric("theme")
    assert theme.mechanism.epsilon_report == 1_500_000
    assert theme.expires == date(2027, 12, 31)
    assert theme.daily_epsilon == 1_500_000
    assert registry.max_age_days == 5
    assert registry.daily_epsilon == 8_000_000
    assert registry.metric("browser").mechanism.epsilon_infinity == 7_783_641
    assert registry.warnings() == ()


def test_unknown_metric_is_named() -> None:
    """Asking for a metric that isn't declared says which."""
    with pytest.raises(UnknownMetric, match="'nobody'"):
        parse_registry(GOOD.encode()).metric("nobody")


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("epsilon", 0, "not above 0"),
        ("epsilon", -1, "not above 0"),
        ("epsilon", 1e-17, "more than 6 decimals"),
        ("epsilon", 1e-9, "more than 6 decimals"),
        ("epsilon", Decimal("1e-999999999"), "more than 6 decimals"),
        ("epsilon", 0.000999, "below .001"),
        ("epsilon", 16.000001, "above 16"),
        ("epsilon", 37, "above 16"),
        ("epsilon", 710, "above 16"),
        ("epsilon", 10**400, "too large"),
        ("epsilon", float("nan"), "not a finite number"),
        ("epsilon", float("inf"), "not a finite number"),
        ("epsilon", True, "true or false, not a number"),
        ("epsilon", "1", "text, not a number"),
        ("epsilon", MISSING, "is missing"),
        ("values", ["a"], "has 1 entries"),
        ("values", [], "has 0 entries"),
        ("values", "abc", "text, not a list"),
        ("values[1]", ["a", 1], "an integer, not text"),
        ("values[1]", ["a", True], "true or false, not text"),
        ("values[2]", ["a", "b", "a"], "repeats values[0]"),
        ("values[0]", ["cafe\u0301", "b"], "not in Unicode form NFC"),
        ("values[0]", ["\ud800", "b"], "lone surrogate"),
        ("values[1]", ["a", "  "], "is empty"),
        ("owner", MISSING, "is missing"),
        ("owner", "", "is empty"),
        ("purpose", MISSING, "is missing"),
        ("expires", MISSING, "is missing"),
        ("expires", "2030-01-01", "text, not a date"),
        ("revision", MISSING, "is missing"),
        ("revision", 0, "not in 1 to"),
        ("revision", 1.0, "a number, not an integer"),
        ("revision", True, "true or false, not an integer"),
        ("mechanism", "krrr", "not a known mechanism"),
        ("mechanism", "unary", "not a known mechanism"),
        ("mechanism", "../krr", "is not a name"),
        ("mechanism", MISSING, "is missing"),
        ("other", "z", "not one of `values`"),
        ("daily_epsilon", 0.5, "allows no report"),
        ("lifetime_epsilon", 0.5, "allows no report"),
        ("min_reports", 0, "not in 1 to"),
        ("min_reports", -1, "not in 1 to"),
        ("family", "No Name", "is not a name"),
        ("colour", "red", "not a known field"),
    ],
)
def test_wrong_field_is_named(field: str, value: Any, what: str) -> None:
    """Each wrong field is refused with its path and cause (ST-05, ST-06)."""
    path, cause = problem_of(BASE, **{field.split("[", maxsplit=1)[0]: value})
    assert path == f"metrics.m.{field}"
    assert what in cause


@pytest.mark.parametrize(
    ("field", "changes", "what"),
    [
        ("f", {"f": 1}, "is 1"),
        ("f", {"f": 1.5}, "not a probability"),
        ("f", {"f": -0.1}, "not a probability"),
        ("f", {"f": Decimal("1e-999999999")}, "more than 18 decimals"),
        ("f", {"f": Decimal("1e999999999")}, "not a probability"),
        ("p", {"p": 0.75}, "equals q"),
        ("q", {"q": MISSING}, "is missing"),
        ("p", {"f": 0, "p": 0}, "certain while f = 0"),
        ("q", {"f": 0, "q": 1}, "certain while f = 0"),
        ("f", {"epsilon_infinity": 4, "epsilon_first_report": 1}, "beside epsilon_infinity"),
        ("bits", {"bits": 1}, "not in 2 to"),
        ("hashes", {"hashes": 16}, "not in 1 to 15"),
        ("cohorts", {"cohorts": 3}, "not a power of two"),
        ("cohorts", {"cohorts": 512}, "not in 1 to 256"),
        ("mechanism", {"f": 0.0001, "p": 0.0001, "q": 0.9999}, "for one report, more than 16"),
        ("changes_sensitive", {"changes_sensitive": True}, "forbids a memoised mechanism"),
        ("epsilon", {"epsilon": 1}, "not a known field"),
        ("max_values", {"max_values": 0}, "not in 1 to 1000"),
    ],
)
def test_wrong_rappor_is_named(field: str, changes: dict[str, Any], what: str) -> None:
    """RAPPOR parameters that say nothing, say everything or contradict are refused by name."""
    path, cause = problem_of(RAPPOR, **changes)
    assert path == f"metrics.m.{field}"
    assert what in cause


def test_rappor_target_out_of_order() -> None:
    """A first report can't cost as much as all reports together."""
    target = {k: v for k, v in RAPPOR.items() if k not in ("f", "p", "q")}
    path, cause = problem_of(target, epsilon_infinity=2, epsilon_first_report=2)
    assert path == "metrics.m.epsilon_first_report"
    assert "not below epsilon_infinity" in cause


def test_every_wrong_metric_is_told() -> None:
    """Two wrong metrics give two problems at once."""
    with pytest.raises(RegistryError) as caught:
        registry_of(
            {"metrics": {"a": {**BASE, "epsilon": 0}, "b": {**BASE, "owner": ""}, "c": BASE}}
        )
    assert [p.path for p in caught.value.problems] == ["metrics.a.epsilon", "metrics.b.owner"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", "metrics"),
        (b"[metrics]", "metrics"),
        (b"metrics = 3", "metrics"),
        (b"[metrics.Theme]", "metrics.Theme"),
        (b"[metrics]\ntheme = 1", "metrics.theme"),
        (b"[registry]\nmax_age_days = 91\n", "metrics"),
        (b"x = " + b"9" * 5000, "TOML"),
        (b"x = 1e99999999999999999999", "TOML"),
        (b"x = 1e-99999999999999999999", "TOML"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "TOML"),
        (b"x = [", "TOML"),
        (b"x = '\xff'", "byte 5"),
        (b'x = "\\ud800"', "TOML"),
        (GOOD.replace("max_age_days = 5", "max_age_days = 91").encode(), "registry.max_age_days"),
        (GOOD.replace("max_age_days", "max_age_day").encode(), "registry.max_age_day"),
        (b"extra = 1\n" + GOOD.encode(), "extra"),
    ],
)
def test_wrong_file_is_explained(body: bytes, path: str) -> None:
    """A file that is no registry says where it went wrong, with the file's name."""
    with pytest.raises(RegistryError) as caught:
        parse_registry(body, source="metrics.toml")
    assert caught.value.problems[0].path == path
    assert "metrics.toml" in str(caught.value)


def test_unknown_metric_has_a_neighbour() -> None:
    """The error names the metric that is spelt nearly so, where there is one."""
    registry = parse_registry(GOOD.encode())
    with pytest.raises(UnknownMetric, match="did you mean 'theme'"):
        registry.metric("Theme")
    with pytest.raises(UnknownMetric) as caught:
        registry.metric("country")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_is_no_fault(mark: str) -> None:
    """N-23: the mark that some editors write changes nothing; a second one is a fault."""
    found = parse_registry((mark + GOOD).encode("utf-8"))
    assert found.metrics == parse_registry(GOOD.encode()).metrics
    with pytest.raises(RegistryError):
        parse_registry(("\ufeff\ufeff" + GOOD).encode())


def test_load_registry_reads_a_file(tmp_path: Path) -> None:
    """A file is read as bytes, and its SHA-256 identifies it."""
    path = tmp_path / "metrics.toml"
    path.write_bytes(GOOD.encode())
    assert load_registry(path).sha256 == parse_registry(GOOD.encode()).sha256


def test_expired_metric_is_told_and_loads() -> None:
    """An expired metric is reported, and the file still loads; the last day counts."""
    registry = parse_registry(GOOD.encode())
    assert registry.expired(date(2027, 6, 30)) == ()
    (problem,) = registry.expired(date(2027, 7, 1))
    assert problem.path == "metrics.browser.expires"


def test_warnings() -> None:
    """Thin cohorts, a metric above the day's total and a domain without `other` are pointed out."""
    registry = registry_of(
        {
            "registry": {"daily_epsilon": 1},
            "metrics": {
                "thin": {**RAPPOR, "daily_epsilon": 5, "expected_devices": 6399},
                "open": BASE,
            },
        }
    )
    assert [w.path for w in registry.warnings()] == [
        "metrics.thin.expected_devices",
        "metrics.thin.daily_epsilon",
        "metrics.open.other",
    ]


def test_values_that_look_alike_are_pointed_out() -> None:
    """D-12: "PDF" and "pdf" are two values; so are those that blanks alone tell apart."""
    metric = {**BASE, "values": ["pdf", "Word", "PDF", "pd f", "text"], "other": "text"}
    warnings = registry_of({"metrics": {"kind": metric}}).warnings()
    assert [warning.path for warning in warnings] == [
        "metrics.kind.values[2]",
        "metrics.kind.values[3]",
    ]
    assert "values[0]" in warnings[0].what


@pytest.mark.parametrize(
    "fields",
    [
        'mechanism = "rappor"\nbits = 16\nf = 0.5\np = 0.25\nq = 0.75\n',
        'mechanism = "rappor"\nbits = 16\nepsilon_infinity = 4\nepsilon_first_report = 1\n',
        'mechanism = "basic_rappor"\nvalues = ["a", "b"]\nf = 0.5\np = 0.25\nq = 0.75\n',
    ],
)
def test_says_how_many_values_are_followed(fields: str) -> None:
    """A-01: what is memoised declares `max_values`, with no default; what is not, needs none.

    A registry that a database took before means what it meant then, under the same fingerprint.
    """
    head = "[metrics.m]\nrevision = 1\n"
    tail = 'owner = "o"\npurpose = "p"\nexpires = 2999-12-31\n'
    silent = (head + fields + tail).encode()
    with pytest.raises(RegistryError) as caught:
        parse_registry(silent)
    (problem,) = caught.value.problems
    assert problem.path == "metrics.m.max_values"
    old = parse_registry(silent, stored=True).metric("m")
    for declared in (1, 3):
        said = parse_registry((head + fields + f"max_values = {declared}\n" + tail).encode())
        assert said.metric("m").mechanism.max_values == declared
        assert (said.metric("m").fingerprint == old.fingerprint) == (declared == 1)
        (note,) = said.notes()
        assert note.path == "metrics.m.max_values"
        assert f"up to {declared} value" in note.what
    fresh = fields.replace("f = 0.5", "f = 0")
    if fresh != fields:
        assert parse_registry((head + fresh + tail).encode()).notes() == ()


def test_fingerprint_is_the_meaning() -> None:
    """A fingerprint changes with the meaning of a bit and with nothing else."""

    def fingerprint(**changes: Any) -> str:
        return registry_of({"metrics": {"m": {**BASE, **changes}}}).metric("m").fingerprint

    same = fingerprint()
    assert same == fingerprint(owner="somebody else", expires=date(2031, 1, 1))
    assert same != fingerprint(epsilon=2)
    assert same != fingerprint(values=["b", "a", "c"])
    assert same != fingerprint(revision=2)


def test_unknown_value_becomes_other() -> None:
    """A value outside a closed domain is answered by `other`, NFC first."""
    theme = parse_registry(GOOD.encode()).metric("theme")
    assert theme.text_of("cafe\u0301") == "café"
    assert theme.text_of("mauve") == "other"


@pytest.mark.parametrize("value", ["z", "\ud800", 1, None, True, b"a", "x" * 5000])
def test_impossible_value_is_refused_unheard(value: object) -> None:
    """A value the metric can't take is refused, and the error doesn't repeat it (EN-01)."""
    metric = registry_of({"metrics": {"m": BASE}}).metric("m")
    with pytest.raises(InvalidValue) as caught:
        metric.text_of(value)
    if isinstance(value, str):
        assert repr(value) not in str(caught.value)
        assert value not in str(caught.value).split("metric")[0]


def test_bool_stands_for_two_values() -> None:
    """False and True are the first and second value of a domain of two."""
    metric = registry_of(
        {"metrics": {"m": {**BASE, "mechanism": "binary", "values": ["no", "yes"]}}}
    ).metric("m")
    assert [metric.text_of(False), metric.text_of(True)] == ["no", "yes"]
