"""The fixed world of the golden files: a registry, a day, and reports that were drawn once."""

import hashlib
import json
import random
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from rumor_client.testing import FakeClock, FakeCollector, client_for, seeded

DATA = Path(__file__).parents[1] / "data"
GOLDEN = DATA / "golden"
OLD = DATA / "versions" / "0.1"
TODAY = date(2026, 11, 30)
NEWEST = (GOLDEN / "metrics.toml").read_text("utf-8")
# The first revision of `theme`, which the second followed.
FIRST = NEWEST.replace("revision = 2", "revision = 1").replace("epsilon = 2.5", "epsilon = 1.5")
PAGES = [f"https://example.org/{word}" for word in ("", "news", "shop", "help", "news/today")]
WORDS = ["apple", "pear", "plum"]
_REPORTS = GOLDEN / "reports.json"
_THEMES = ["light", "dark", "system", "high contrast", "<b>&\"'"]
_SENT_AT_A_TIME = 500


def ago(days: int) -> date:
    """A day before the golden day."""
    return TODAY - timedelta(days=days)


def named(text: str) -> bytes:
    """Sixteen bytes that a name stands for: an id or a pseudonym."""
    return hashlib.sha256(text.encode()).digest()[:16]


def base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return b64encode(data).decode()


def batches(registry: str) -> Iterator[dict[str, Any]]:
    """Yield the batches of the reports that were drawn for one of the two registries."""
    for entry in json.loads(_REPORTS.read_text("utf-8")):
        if entry["registry"] != ("first" if registry == FIRST else "newest"):
            continue
        label = f"{entry['metric']} {entry['revision']} {entry['day']}"
        payloads, size = b64decode(entry["payloads"]), entry["payload_bytes"]
        reports = [
            {
                "id": base64(named(f"{label} {i}")),
                "metric": entry["metric"],
                "revision": entry["revision"],
                "cohort": int(cohort, 16),
                "payload": base64(payloads[size * i : size * (i + 1)]),
            }
            for i, cohort in enumerate(entry["cohorts"])
        ]
        for start in range(0, len(reports), _SENT_AT_A_TIME):
            yield {
                "sdk": "golden/1",
                "day": entry["day"],
                "pseudonym": base64(named(f"{label} device {start}")),
                "reports": reports[start : start + _SENT_AT_A_TIME],
            }


def draw() -> None:
    """Draw the reports anew, with other noise than before only where the client's draws differ."""
    drawn = []
    for registry, days in (("first", (6, 5, 4, 3)), ("newest", (2, 1, 0))):
        text = FIRST if registry == "first" else NEWEST
        for days_ago in days:
            plan = [*_EVERY_DAY, *(_ONE_DAY if days_ago == 1 else ())]
            drawn += [_drawn(text, registry, ago(days_ago), *one) for one in plan]
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in drawn)
    _REPORTS.write_text(f"[\n{lines}\n]\n", "utf-8")


# What is drawn: a metric, its values, their weights, and how many reports.
_Plan = tuple[str, list[Any], list[float], int]
_EVERY_DAY: list[_Plan] = [
    ("theme", _THEMES, [5, 3, 2, 1, 0.2], 150),
    ("page", PAGES, [5, 3, 2, 1, 0.2], 100),
]
_ONE_DAY: list[_Plan] = [
    ("old-page", PAGES, [5, 3, 2, 1, 0.2], 100),
    ("habit", ["a", "b"], [3, 2], 100),
    ("switch", [True, False], [3, 2], 100),
    ("symmetric", ["a", "b", "c", "d"], [4, 3, 2, 1], 100),
    ("optimal", ["a", "b", "c", "d"], [4, 3, 2, 1], 100),
    ("few", ["a", "b", "c", "d", "e"], [5, 4, 3, 2, 1], 100),
    ("column", ["a", "b", "c", "d", "e", "f"], [6, 5, 4, 3, 2, 1], 100),
    ("point", ["a", "b", "c", "d", "e"], [5, 4, 3, 2, 1], 100),
    ("word", WORDS, [5, 3, 1], 200),
    ("sketch", WORDS, [5, 3, 1], 200),
    ("signed", WORDS, [5, 3, 1], 200),
    ("rare", ["no", "yes"], [9, 1], 37),
]


def _drawn(
    text: str,
    registry: str,
    day: date,
    metric: str,
    values: list[Any],
    weights: list[float],
    n: int,
) -> dict[str, Any]:
    """Return `n` reports of as many devices, made by the client of this installation."""
    draws = random.Random(f"{metric} {day}")
    clock = FakeClock(datetime.combine(day, time(12), UTC))
    collector = FakeCollector()
    for value in draws.choices(values, weights, k=n):
        with client_for(
            text.encode(),
            clock=clock,
            transport=collector,
            randomness=seeded(draws.getrandbits(64)),
        ) as client:
            assert client.record(metric, value).recorded
            client.flush()
    reports = list(collector.counted.values())
    payloads = [b64decode(report["payload"]) for report in reports]
    return {
        "registry": registry,
        "metric": metric,
        "revision": reports[0]["revision"],
        "day": str(day),
        "payload_bytes": len(payloads[0]),
        "cohorts": "".join(f"{report['cohort']:x}" for report in reports),
        "payloads": base64(b"".join(payloads)),
    }
