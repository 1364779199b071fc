"""The examples of the OpenAPI document: one metric, three reports, as a collector answers them."""

from __future__ import annotations

from typing import Any

from rumor_server.queries.ranks import RanksPage, ranks_csv
from rumor_server.queries.rows import EstimatesPage, as_csv, rows_csv
from rumor_server.queries.watch import WatchPage, watch_csv
from rumor_shared.wire import JSON, REGISTRY_PATH, REPORTS_PATH, RETRACTIONS_PATH

_ID = "e95hq6XEuJv4AA5Rx9GNIw=="
_SHA256 = "90d0ef6b3eae902c4c977189b7ebc09908a362c49b23550ba36433874901869c"

REGISTRY = """\
[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark"]
owner = "privacy@example.org"
purpose = "which theme to polish first"
expires = 2027-12-31
"""
METRICS: dict[str, Any] = {
    "metrics": [
        {
            "name": "theme",
            "revision": 1,
            "mechanism": "krr",
            "question": "Which theme is set?",
            "owner": "privacy@example.org",
            "purpose": "which theme to polish first",
            "family": "theme",
            "expires": "2027-12-31",
            "epsilon_report": 1.0,
            "epsilon_infinity": None,
            "daily_epsilon": 1.0,
            "lifetime_epsilon": None,
            "cohorts": 1,
            "values": ["light", "dark"],
            "min_reports": 1,
            "first_day": "2026-11-01",
            "last_day": "2026-11-30",
        }
    ]
}
ROWS: list[dict[str, Any]] = [
    {
        "value": "light",
        "estimate": 310.5,
        "frequency": 0.6210,
        "std_error": 0.0332,
        "low": 0.5543,
        "high": 0.6861,
        "simultaneous_low": 0.5449,
        "simultaneous_high": 0.6951,
        "robust_low": 0.5435,
        "robust_high": 0.6970,
        "p_value": 1.2e-62,
        "significant": True,
        "n": 500,
        "epsilon": 1.0,
        "mechanism": "krr",
        "revision": 1,
        "post_processed": 0.6210,
        "possible_low": 0.5543,
        "possible_high": 0.6861,
    },
    {
        "value": "dark",
        "estimate": 189.5,
        "frequency": 0.3790,
        "std_error": 0.0332,
        "low": 0.3139,
        "high": 0.4457,
        "simultaneous_low": 0.3049,
        "simultaneous_high": 0.4551,
        "robust_low": 0.3030,
        "robust_high": 0.4565,
        "p_value": 3.1e-25,
        "significant": True,
        "n": 500,
        "epsilon": 1.0,
        "mechanism": "krr",
        "revision": 1,
        "post_processed": 0.3790,
        "possible_low": 0.3139,
        "possible_high": 0.4457,
    },
]
ESTIMATES: dict[str, Any] = {
    "metric": "theme",
    "question": "Which theme is set?",
    "status": "ok",
    "n": 500,
    "min_reports": 1,
    "min_new_reports": 1,
    "missing": 0,
    "first_day": "2026-11-01",
    "last_day": "2026-11-30",
    "alpha": 0.05,
    "fake_share": 0.01,
    "revisions": [1],
    "left_out": [],
    "left_out_reports": [],
    "since": "2026-11-01",
    "population": "reports",
    "follows": None,
    "reports_for_10_points": 500,
    "unexplained": None,
    "unexplained_std_error": None,
    "unexplained_means": None,
    "odd_candidates": [],
    "authenticity": [
        {
            "revision": 1,
            "looked_at": 0,
            "light": 0,
            "heavy": 0,
            "expected_odd": 0.0,
            "checks": [{"name": "too_many_in_a_cell", "p_value": 1.0, "suspicious": False}],
            "fake_share": 0.01,
            "shift_up": 0.0159,
            "shift_down": 0.0159,
        }
    ],
    "row_count": 2,
    "headline": "Of the reports, light leads: 62%, between 54 and 70.",
    "rows": ROWS,
}
RANKS: dict[str, Any] = {
    **{
        name: ESTIMATES[name]
        for name in (
            "metric",
            "question",
            "status",
            "n",
            "min_reports",
            "missing",
            "first_day",
            "last_day",
            "alpha",
            "revisions",
            "left_out",
            "left_out_reports",
            "population",
            "row_count",
        )
    },
    "method": "pairs",
    "rows": [
        {
            "value": row["value"],
            "best_rank": rank,
            "worst_rank": rank,
            "frequency": row["frequency"],
            "simultaneous_low": row["simultaneous_low"],
            "simultaneous_high": row["simultaneous_high"],
            "n": row["n"],
        }
        for rank, row in enumerate(ROWS, start=1)
    ],
}
WATCH: dict[str, Any] = {
    **{
        name: ESTIMATES[name]
        for name in ("metric", "question", "status", "n", "min_reports", "missing", "alpha")
    },
    "first_day": "2026-11-30",
    "last_day": "2026-11-30",
    "revision": 1,
    "population": "reports",
    "asymptotic": False,
    "row_count": 2,
    "rows": [
        {
            "day": "2026-11-30",
            "value": value,
            "n": 500,
            "frequency": frequency,
            "low": low,
            "high": high,
        }
        for value, frequency, low, high in (
            ("light", 0.621, 0.51, 0.73),
            ("dark", 0.379, 0.27, 0.49),
        )
    ],
}
BATCH: dict[str, Any] = {
    "sdk": "rumor-python/0.1.0",
    "day": "2026-11-30",
    "pseudonym": "q83vEjRWeJCrze8SNFZ4kA==",
    "reports": [{"id": _ID, "metric": "theme", "revision": 1, "cohort": 0, "payload": "AQ=="}],
}
RETRACTIONS: dict[str, Any] = {
    **{name: BATCH[name] for name in ("sdk", "day", "pseudonym")},
    "retractions": BATCH["reports"],
}
BATCH_RESULT: dict[str, Any] = {
    "results": [{"id": _ID, "verdict": "accepted", "reason": None, "detail": None}],
    "server_day": "2026-11-30",
}
RETRACTION_RECEIPT: dict[str, Any] = {
    "results": [{"id": _ID, "verdict": "retracted", "detail": None}],
    "server_day": "2026-11-30",
}
CANDIDATES: dict[str, Any] = {"candidates": ["example.org", "example.com"]}
FIGURES = """\
# HELP rumor_verdicts_total reports by verdict and reason
# TYPE rumor_verdicts_total counter
rumor_verdicts_total{verdict="accepted",reason=""} 500
"""
VERSION: dict[str, Any] = {"version": "0.1.0", "registry": _SHA256, "server_day": "2026-11-30"}

# What each parameter may look like, by its name.
PARAMETERS: dict[str, Any] = {
    "metric": "theme",
    "from": "2026-11-01",
    "to": "2026-11-30",
    "revision": 1,
    "alpha": 0.01,
    "fakes": 0.05,
    "robust": 0.05,
    "format": "csv",
    "limit": 100,
    "offset": 100,
    "of": "population",
    "compare_from": "2026-10-02",
    "compare_to": "2026-10-31",
    "candidate": ["example.org", "example.com"],
    "accept": "text/csv",
}


TREND: dict[str, Any] = {
    "metric": "theme",
    "question": "Which theme is set?",
    "first_day": "2026-11-29",
    "last_day": "2026-11-30",
    "alpha": 0.05,
    "days_a_point": 1,
    "revisions": [],
    "rows": [
        {
            "first": f"2026-11-{day}",
            "last": f"2026-11-{day}",
            "value": "light",
            "n": 250,
            "status": "ok",
            "frequency": share,
            "std_error": 0.047,
            "low": round(share - 0.092, 4),
            "high": round(share + 0.092, 4),
            "left_out": 0,
        }
        for day, share in ((29, 0.618), (30, 0.624))
    ],
}
COMPARISON: dict[str, Any] = {
    "metric": "theme",
    "question": "Which theme is set?",
    "alpha": 0.05,
    "of": "population",
    "before": {
        "first_day": "2026-10-02",
        "last_day": "2026-10-31",
        "status": "ok",
        "n": 500,
        "population": "reports",
        "left_out_reports": [],
    },
    "after": {
        "first_day": "2026-11-01",
        "last_day": "2026-11-30",
        "status": "ok",
        "n": 500,
        "population": "reports",
        "left_out_reports": [],
    },
    "changed": ["dark"],
    "rows": [
        {
            "value": "dark",
            "before": 0.22,
            "after": 0.379,
            "difference": 0.159,
            "std_error": 0.047,
            "low": 0.067,
            "high": 0.251,
            "p_value": 0.0007,
            "significant": True,
            "reports_needed": 415,
        }
    ],
}


def _csv_of(page: dict[str, Any]) -> str:
    parsed = EstimatesPage.model_validate(page)
    return rows_csv(parsed.rows, parsed.scope)


def _table_of(page: dict[str, Any]) -> str:
    return as_csv(list(page["rows"][0]), page["rows"])


_ESTIMATES_PATH = "/v1/metrics/{metric}/estimates"
# What the bodies of requests look like, by method and path.
REQUESTS: dict[tuple[str, str], Any] = {
    ("post", _ESTIMATES_PATH): CANDIDATES,
    ("post", REPORTS_PATH): BATCH,
    ("post", RETRACTIONS_PATH): RETRACTIONS,
}


def answers() -> dict[tuple[str, str], dict[str, Any]]:
    """Return what 200 looks like in each media type, by method and path."""
    estimates = {JSON: ESTIMATES, "text/csv": _csv_of(ESTIMATES)}
    return {
        ("get", "/v1/metrics"): {JSON: METRICS},
        ("get", _ESTIMATES_PATH): estimates,
        ("post", _ESTIMATES_PATH): estimates,
        ("get", "/v1/metrics/{metric}/ranks"): {
            JSON: RANKS,
            "text/csv": ranks_csv(RanksPage.model_validate(RANKS)),
        },
        ("get", "/v1/metrics/{metric}/watch"): {
            JSON: WATCH,
            "text/csv": watch_csv(WatchPage.model_validate(WATCH)),
        },
        ("get", "/v1/metrics/{metric}/trend"): {JSON: TREND, "text/csv": _table_of(TREND)},
        ("get", "/v1/metrics/{metric}/comparison"): {
            JSON: COMPARISON,
            "text/csv": _table_of(COMPARISON),
        },
        ("get", REGISTRY_PATH): {"application/toml": REGISTRY},
        ("get", "/healthz"): {JSON: {"status": "ok"}},
        ("get", "/readyz"): {JSON: {"status": "ready"}},
        ("get", "/version"): {JSON: VERSION},
        ("get", "/metrics"): {"text/plain": FIGURES},
        ("post", REPORTS_PATH): {JSON: BATCH_RESULT},
        ("post", RETRACTIONS_PATH): {JSON: RETRACTION_RECEIPT},
    }
