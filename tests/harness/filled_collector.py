"""A collector with some weeks of reports, drawn from a fixed seed and sent as devices send them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tests.harness.collector import Collector, batch, collector, days_ago, report

from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE

_HEAD = """
[registry]
max_age_days = 60
daily_epsilon = 100000.0
"""
_METRIC = """
[metrics.{name}]
revision = {revision}
{mechanism}
daily_epsilon = {daily}
question = "{question}"
owner = "test@example.org"
purpose = "to test"
expires = {expires}
{more}
"""
_KRR = 'mechanism = "krr"\nepsilon = {epsilon}\nvalues = {values}'
_NOISE = "f = 0.25\np = 0.2\nq = 0.8\nmax_values = 1"
_RAPPOR = f'mechanism = "rappor"\nbits = 64\nhashes = 2\ncohorts = 4\n{_NOISE}'
_BASIC = f'mechanism = "basic_rappor"\nvalues = ["a", "b"]\n{_NOISE}'
_MANY = "min_reports = 1000\nmin_new_reports = 1"

THEMES = ["light", "dark", "system", "high contrast", "<b>&\"'"]
PAGES = [f"https://example.org/{word}" for word in ("", "news", "shop", "help", "news/today")]


def metric_text(
    name: str,
    mechanism: str,
    *,
    revision: int = 1,
    expires: str = "2026-12-31",
    question: str = "",
    more: str = "",
    daily: str = "100000.0",
) -> str:
    """One metric of a registry."""
    return _METRIC.format(
        name=name,
        revision=revision,
        mechanism=mechanism,
        expires=expires,
        question=question or name,
        more=more,
        daily=daily,
    )


def krr_text(values: Sequence[str], epsilon: float) -> str:
    """The mechanism's part of a metric of listed values."""
    quoted = ", ".join("'''" + value + "'''" for value in values)
    return _KRR.format(epsilon=epsilon, values=f"[{quoted}]")


def registry_text(theme_revision: int = 1) -> str:
    """A metric in every state that a page can show."""
    epsilon = 1.5 if theme_revision == 1 else 2.5
    return _HEAD + "".join(
        [
            metric_text(
                "theme",
                krr_text(THEMES, epsilon),
                revision=theme_revision,
                question="Which theme is set?",
            ),
            metric_text("page", _RAPPOR, question="Which page was opened?"),
            metric_text("rare", krr_text(["no", "yes"], 1.0), more=_MANY),
            metric_text("habit", _BASIC),
            metric_text("quiet", krr_text(["no", "yes"], 1.0), daily="1.0"),
            metric_text("old", krr_text(["no", "yes"], 1.0), expires="2026-11-28"),
        ]
    )


def answers(
    metric: Metric, truth: NDArray[np.int64], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Perturb indices of THEMES, PAGES or a closed domain's values; return reports."""
    mechanism = metric.mechanism
    if isinstance(mechanism, Krr):
        k = len(mechanism.values)
        lies = (truth + rng.integers(1, k, len(truth))) % k
        said = np.where(rng.random(len(truth)) < mechanism.keep / ONE, truth, lies)
        return [
            report(
                metric.name,
                int(one).to_bytes(mechanism.payload_bytes, "little"),
                revision=metric.revision,
            )
            for one in said
        ]
    return [_rappor(metric, cast(Rappor, mechanism), int(one), rng) for one in truth]


def _rappor(
    metric: Metric, mechanism: Rappor, index: int, rng: np.random.Generator
) -> dict[str, Any]:
    cohort = int(rng.integers(mechanism.cohorts))
    bits = np.zeros(mechanism.bits, dtype=np.bool_)
    if mechanism.values is None:
        value = hash_bytes(PAGES[index].encode())
        bits[list(mechanism.bloom_bits(value, metric.key, cohort))] = True
    else:
        bits[index] = True
    bits ^= rng.random(mechanism.bits) < mechanism.half_f / ONE
    q, p = mechanism.q_set / ONE, mechanism.p_set / ONE
    said = rng.random(mechanism.bits) < np.where(bits, q, p)
    payload = np.packbits(said, bitorder="little").tobytes()
    return report(metric.name, payload, revision=metric.revision, cohort=cohort)


def send(running: Collector, reports: list[dict[str, Any]], day: date) -> None:
    """Send reports in batches as large as a server takes; all must be accepted."""
    for start in range(0, len(reports), 500):
        verdicts = running.verdicts(batch(*reports[start : start + 500], day=day))
        assert set(verdicts) == {"accepted"}, set(verdicts)


def draw(
    running: Collector, name: str, day: date, shares: Sequence[float], n: int, seed: int
) -> None:
    """Have `n` reports of a metric counted on a day, with true shares `shares`."""
    rng = np.random.default_rng(seed)
    metric = running.store.revisions(name)[-1]
    truth = rng.choice(len(shares), n, p=np.array(shares) / sum(shares))
    send(running, answers(metric, truth, rng), day)


@contextmanager
def filled(folder: Path, *, days: int, a_day: int) -> Iterator[Collector]:
    """Run a collector whose themes drift, with a new revision half-way, and pages that stay."""
    database = folder / "rumor.sqlite3"
    half = days // 2
    for revision, span in ((1, range(days - 1, half - 1, -1)), (2, range(half - 1, -1, -1))):
        with collector(database, registry_text(revision)) as running:
            for ago in span:
                drift = 0.2 * (days - ago) / days
                shares = [0.5 - drift, 0.2 + drift, 0.2, 0.08, 0.02]
                draw(running, "theme", days_ago(ago), shares, a_day, seed=ago)
                draw(running, "page", days_ago(ago), [5, 3, 2, 1, 0.2], a_day, seed=100 + ago)
                draw(running, "habit", days_ago(ago), [0.6, 0.4], a_day // 5, seed=200 + ago)
            if revision == 2:
                draw(running, "rare", days_ago(0), [0.9, 0.1], 137, seed=7)
                yield running
