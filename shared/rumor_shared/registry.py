"""The registry: the TOML file that declares every metric, read by both sides.

[registry]
max_age_days = 7            # outbox age, day window and id retention: one number
daily_epsilon = 8.0         # what a device may spend a day, over all metrics

[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark", "system"]
question = "Which theme is set?"
owner = "design@example.org"
purpose = "product improvement"
expires = 2027-12-31
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from rumor_shared.epsilon import MICRO, format_micro
from rumor_shared.errors import Problem, RegistryError, UnknownMetric
from rumor_shared.fields import Fields, nearest
from rumor_shared.metric import MAX_ACCOUNT, Metric, parse_metrics

# A report older than this is of no use to anyone, and its id would have to be kept as long.
MAX_AGE_DAYS = 90
DEFAULT_AGE_DAYS = 7
# Who asks again within ten minutes learns nothing that ten minutes later would not tell.
DEFAULT_STEP_SECONDS = 600
# Below this many devices in a kept cohort on a day, a cell of the tally is nearly a report.
CROWD = 100
# Editors of one system write it; TOML knows none.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Registry:
    """Every metric of one file, and what they share.

    `body` is the file as it was read; its SHA-256 is the ETag under which a server offers it.
    """

    metrics: Mapping[str, Metric]
    max_age_days: int
    """How many days old a report may be when it is counted. The device drops what is older, and
    the collector then closes the day: ids and spend of that day are deleted."""
    daily_epsilon: int
    """What one device may spend on a UTC day, over all metrics."""
    lifetime_epsilon: int | None
    """What one device may spend for life, over all metrics."""
    step_seconds: int
    """How long an answer about an open day stands still at least, where a metric is shown in
    steps."""
    body: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """SHA-256 of the file, in hexadecimal."""
        import hashlib  # a device needs it only to check a registry it was sent

        return hashlib.sha256(self.body).hexdigest()

    def metric(self, name: str) -> Metric:
        """Return the metric `name`. Raises UnknownMetric."""
        try:
            return self.metrics[name]
        except KeyError:
            raise UnknownMetric(name, nearest(name, self.metrics)) from None

    def expired(self, day: date) -> tuple[Problem, ...]:
        """Return a problem for each metric whose last valid day is before `day`."""
        return tuple(
            Problem(f"metrics.{m.name}.expires", f"was {m.expires}", "remove it or set a new date")
            for m in self.metrics.values()
            if m.expired(day)
        )

    def warnings(self) -> tuple[Problem, ...]:
        """Return what is allowed and yet worth a second look."""
        found = []
        for m in self.metrics.values():
            where = f"metrics.{m.name}"
            devices = (m.expected_devices or 0) // m.mechanism.cohorts
            if m.mechanism.memoised and m.mechanism.cohorts > 1 and devices < CROWD:
                found.append(
                    Problem(
                        f"{where}.expected_devices",
                        f"means {devices} devices in a kept cohort on a day, fewer than {CROWD}: "
                        "a cell of the tally is nearly a report",
                        "use fewer cohorts, or state how many devices you expect",
                    )
                )
            if m.daily_epsilon > self.daily_epsilon:
                found.append(
                    Problem(
                        f"{where}.daily_epsilon",
                        f"is above the {format_micro(self.daily_epsilon)} of all metrics together",
                        "lower it, or raise registry.daily_epsilon",
                    )
                )
            if m.mechanism.values is not None and len(m.mechanism.values) > 2 and m.other is None:
                found.append(
                    Problem(
                        f"{where}.other",
                        "is not given, so the client refuses a value outside the domain",
                        "name the value that stands for all others",
                    )
                )
            found += _near_values(where, m.mechanism.values or ())
        return tuple(found)

    def notes(self) -> tuple[Problem, ...]:
        """Return what metrics can't see, however right their declaration is."""
        return tuple(
            Problem(
                f"metrics.{m.name}.max_values",
                f"lets answers of up to {m.mechanism.max_values} "
                f"value{'' if m.mechanism.max_values == 1 else 's'} a device be followed; one that "
                "changes its answer more often goes on to answer as before, which this metric "
                "can't see",
                "raise it, at epsilon_infinity a value, or use fresh noise",
            )
            for m in self.metrics.values()
            if m.mechanism.memoised
        )


def _near_values(where: str, values: tuple[str, ...]) -> list[Problem]:
    """Return a problem for each value that another one differs from in case or blanks alone."""
    first: dict[str, int] = {}
    found = []
    for i, value in enumerate(values):
        j = first.setdefault("".join(value.casefold().split()), i)
        if j != i:
            found.append(
                Problem(
                    f"{where}.values[{i}]",
                    f"differs from values[{j}] in case or blanks alone, and is counted apart",
                    "keep one, and let the app write it so",
                )
            )
    return found


def load_registry(path: str | os.PathLike[str]) -> Registry:
    """Read a registry file. Raises RegistryError with the path of every field that is wrong.

    A file that can't be opened raises OSError. An expired metric is no error here: the server must
    still explain its tallies, and an app must not fail on the day after; see `Registry.expired`.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is a tenth of a client's import time
        return parse_registry(file.read(), source=os.fspath(path))


def parse_registry(body: bytes, source: str = "registry", *, stored: bool = False) -> Registry:
    """Parse the bytes of a registry file. Raises RegistryError.

    A registry that a database has `stored` was taken before `max_values` had to be declared: it
    still means what it meant then.
    """
    document = read_toml(body, source)
    try:
        return _build(document, body, stored=stored)
    except RegistryError as error:
        raise RegistryError(error.problems, source) from None


def read_toml(body: bytes, source: str) -> dict[str, Any]:
    """Return the tables of a registry file, every float a Decimal. Raises RegistryError."""
    import tomllib  # an app that hands over a Registry has no use for it

    try:
        return tomllib.loads(
            body.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "strict"), parse_float=Decimal
        )
    except UnicodeDecodeError as error:
        where = Problem(f"byte {error.start}", "is not valid UTF-8", "save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        where = Problem("TOML", str(error), "mend the syntax")
    except (ValueError, ArithmeticError, RecursionError):
        # Python's own bounds: 4300 digits, a Decimal's exponent, a thousand calls in each other.
        where = Problem("TOML", "has a number or a nesting too long to read", "shorten it")
    raise RegistryError((where,), source)


def registry_of(document: Mapping[str, Any]) -> Registry:
    """Build a registry from tables in memory, as tests and simulations do. Raises RegistryError.

    Its `body` is JSON and only identifies it: a server needs a registry read from a file. Like a
    stored one it may leave `max_values` out, which is 1 then.
    """
    import json  # only tests and simulations build a registry this way

    body = json.dumps(document, default=str, sort_keys=True, ensure_ascii=True).encode()
    return _build(document, body, stored=True)


def _build(document: Mapping[str, Any], body: bytes, *, stored: bool) -> Registry:
    root = Fields(document, "")
    table = root.table("registry") if root.has("registry") else {}
    tables = root.table("metrics")
    if not tables:
        root.problem("metrics", "is empty", "declare at least one metric")
    metrics: dict[str, Metric] = {}
    problems: list[Problem] = []
    shared: tuple[int, int, int | None, int] = (DEFAULT_AGE_DAYS, MICRO, None, 0)
    # What is wrong in one part keeps no other from being read.
    try:
        metrics = parse_metrics(tables, root, stored=stored)
    except RegistryError as error:
        problems += error.problems
    greediest = max((m.daily_epsilon for m in metrics.values()), default=MICRO)
    try:
        shared = _shared(Fields(table, "registry"), greediest)
    except RegistryError:
        from rumor_shared.faults import faults  # for a mistake only

        problems += faults(lambda top: _shared(top, greediest), table, "registry")
    try:
        root.finish()
    except RegistryError as error:
        problems += error.problems
    if problems:
        raise RegistryError(tuple(problems))
    return Registry(metrics, *shared, body)


def _shared(top: Fields, greediest: int) -> tuple[int, int, int | None, int]:
    """Return what all metrics share, in the order of `Registry`."""
    shared = (
        top.integer("max_age_days", 1, MAX_AGE_DAYS, default=DEFAULT_AGE_DAYS),
        top.epsilon("daily_epsilon", MAX_ACCOUNT, default=greediest),
        top.epsilon("lifetime_epsilon", MAX_ACCOUNT) if top.has("lifetime_epsilon") else None,
        top.integer("step_seconds", 0, 86_400, default=DEFAULT_STEP_SECONDS),
    )
    top.finish()
    return shared
