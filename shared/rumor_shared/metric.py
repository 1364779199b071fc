"""One question of the registry: what is asked, how it is perturbed, what it may cost, who answers
for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import cached_property
from typing import Any

from rumor_shared.epsilon import MICRO, format_micro
from rumor_shared.errors import InvalidValue, Problem, RegistryError, UnknownMechanism
from rumor_shared.fields import MAX_EPSILON, Fields, is_slug, nearest
from rumor_shared.hashing import metric_key
from rumor_shared.mechanism import MAX_CELLS, MAX_PAYLOAD_BYTES, Mechanism
from rumor_shared.mechanisms.table import from_fields, installed_names
from rumor_shared.text import TextProblem, canonical_bytes

# A day or a life may hold many reports; a million epsilon is a bound for integers, not advice.
MAX_ACCOUNT = 1_000_000 * MICRO
# SQLite and PostgreSQL store a revision in 32 bits.
MAX_REVISION = 2**31 - 1
MAX_NAME = 64


@dataclass(frozen=True)
class Metric:
    """A metric as the registry declares it. All epsilon are micro-epsilon."""

    name: str
    revision: int
    """Raise it whenever the mechanism, a parameter or the values change: a stored bit means
    something else then. The collector refuses a change without it."""
    mechanism: Mechanism
    """How a value is encoded and perturbed. `auto` is replaced by `rumor plan --write FILE`."""
    question: str
    """What is asked, in words that the device's owner understands."""
    owner: str
    """Who answers for the metric, such as an address."""
    purpose: str
    """What it is for. The owner of a device consents to each purpose."""
    expires: date
    """The last valid UTC day, inclusive. Later reports are refused."""
    family: str
    """Metrics whose answers hang together, such as two questions about one habit. The device
    charges them to one account as well, with the largest allowance that one of them declares. A
    renamed metric keeps its family."""
    daily_epsilon: int
    """What one device may spend on this metric on a UTC day."""
    lifetime_epsilon: int | None
    """What one device may spend on this metric for life."""
    other: str | None
    """One of `values`, which stands for every text outside them. Without it the client raises
    InvalidValue."""
    changes_sensitive: bool
    """Whether it must stay hidden that an answer changed. True forbids a memoised mechanism."""
    min_reports: int
    """Estimates are withheld until so many reports are counted."""
    min_new_reports: int
    """By how many reports two answers about a day that is still open differ at least; as many as
    `min_reports` unless declared."""
    expected_devices: int | None
    """How many devices are expected on a day. `rumor registry check` warns where a kept cohort
    would hold fewer than 100 of them."""

    @cached_property
    def key(self) -> int:
        """The 64-bit key of this revision's hashes."""
        return metric_key(self.name, self.revision)

    @cached_property
    def indices(self) -> Mapping[str, int]:
        """Index of each value of a closed domain; empty for an open one."""
        return {value: i for i, value in enumerate(self.mechanism.values or ())}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that gives a stored bit its meaning.

        Two metrics of one name and revision must agree on it; if it changes, the revision must.
        """
        import hashlib  # with json some 5 ms that an app's start needn't pay
        import json

        mechanism = asdict(self.mechanism)  # type: ignore[call-overload]
        meaning = {"name": self.name, "revision": self.revision, "mechanism": mechanism}
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    def expired(self, day: date) -> bool:
        """Return whether `day` is past the last valid UTC day, which is inclusive."""
        return day > self.expires

    def is_value(self, value: object) -> bool:
        """Return whether `value`, which `text_of` takes, is in the domain as it is."""
        return isinstance(value, bool) or canonical_bytes(str(value)).decode() in self.indices

    def text_of(self, value: object) -> str:
        """Return the text that a value given by the app stands for, in NFC.

        A bool stands for the first (False) or second (True) value of a domain of two. Outside a
        closed domain the metric's `other` answers. Raises InvalidValue, without the value in it.
        """
        if isinstance(value, bool):
            values = self.mechanism.values
            if values is None or len(values) != 2:
                raise InvalidValue(self.name, "takes text, not a bool", "pass a str")
            return values[value]
        if not isinstance(value, str):
            raise InvalidValue(
                self.name, f"takes text, not {type(value).__name__}", "convert the value to str"
            )
        try:
            text = canonical_bytes(value).decode()
        except TextProblem as error:
            raise InvalidValue(self.name, f"the value {error.what}", "pass valid text") from None
        if self.mechanism.values is None or text in self.indices:
            return text
        if self.other is None:
            raise InvalidValue(
                self.name,
                "the value is not in the domain and the metric declares no `other`",
                "add the value or an `other` to the registry, under a new revision",
            )
        return self.other


def parse_metric(name: str, table: Mapping[str, Any], *, stored: bool = False) -> Metric:
    """Build a metric from its table. Raises RegistryError with the path of each field that is
    wrong.

    One that was `stored` before may lack `max_values`, which was 1 then.
    """
    path = f"metrics.{name}"
    try:
        return _read(name, Fields(table, path), stored=stored)
    except RegistryError as error:
        from rumor_shared.faults import faults  # for a mistake only

        found = faults(lambda fields: _read(name, fields, stored=stored), table, path)
        raise RegistryError(found or error.problems) from None


def _read(name: str, fields: Fields, *, stored: bool) -> Metric:
    if not is_slug(name):
        fields.problem("", "is not a name", "use a-z, 0-9, _ . - and start with a letter")
    mechanism_name = fields.slug("mechanism")
    revision = fields.integer("revision", 1, MAX_REVISION)
    question = fields.text("question", default=name)
    owner = fields.text("owner")
    purpose = fields.text("purpose")
    expires = fields.day("expires")
    family = fields.slug("family", default=name)
    min_reports = fields.integer("min_reports", 1, 2**53, default=1)
    min_new_reports = fields.integer("min_new_reports", 1, 2**53, default=min_reports)
    expected_devices = (
        fields.integer("expected_devices", 1, 2**53) if fields.has("expected_devices") else None
    )
    if mechanism_name == "auto":
        fields.problem(
            "mechanism",
            'is "auto": nothing has been chosen yet',
            "run `rumor plan --write` with this file, which writes the choice down",
        )
    try:
        mechanism = from_fields(mechanism_name, fields)
    except UnknownMechanism:
        known = installed_names()
        fix = nearest(mechanism_name, known) + f"choose one of {', '.join(known)}"
        fields.problem("mechanism", "is not a known mechanism", fix)
    _check_size(mechanism, fields)
    if mechanism.memoised and not stored and not fields.has("max_values"):
        # No default is right: with 1 a device that changed its answer is never seen to have.
        fields.problem(
            "max_values",
            "is missing: of how many different values a device gives permanent answers to is each "
            "followed? A change beyond them is not seen",
            "declare it (1 if answers never change), or use a mechanism with fresh noise",
        )
    other = fields.text("other") if fields.has("other") else None
    if other is not None and other not in (mechanism.values or ()):
        fix = nearest(other, mechanism.values or ()) + "add it to `values`"
        fields.problem("other", "is not one of `values`", fix)
    changes_sensitive = fields.flag("changes_sensitive", default=False)
    if changes_sensitive and mechanism.memoised:
        fields.problem(
            "changes_sensitive",
            "forbids a memoised mechanism, which shows when an answer changes",
            "choose a mechanism with fresh noise",
        )
    daily = fields.epsilon("daily_epsilon", MAX_ACCOUNT, default=mechanism.epsilon_report)
    if daily < mechanism.epsilon_report:
        fields.problem(
            "daily_epsilon",
            f"allows no report: one costs {format_micro(mechanism.epsilon_report)}",
            "raise it or lower the epsilon of a report",
        )
    lifetime: int | None = None
    if fields.has("lifetime_epsilon"):
        lifetime = fields.epsilon("lifetime_epsilon", MAX_ACCOUNT)
        if lifetime < mechanism.epsilon_life(1):
            fields.problem(
                "lifetime_epsilon",
                f"allows no report: the first costs {format_micro(mechanism.epsilon_life(1))}",
                "raise it",
            )
    metric = Metric(
        name=name,
        revision=revision,
        mechanism=mechanism,
        question=question,
        owner=owner,
        purpose=purpose,
        expires=expires,
        family=family,
        daily_epsilon=daily,
        lifetime_epsilon=lifetime,
        other=other,
        changes_sensitive=changes_sensitive,
        min_reports=min_reports,
        min_new_reports=min_new_reports,
        expected_devices=expected_devices,
    )
    fields.finish()
    return metric


def _check_size(mechanism: Mechanism, fields: Fields) -> None:
    if mechanism.payload_bytes > MAX_PAYLOAD_BYTES:
        fields.problem("mechanism", f"has payloads over {MAX_PAYLOAD_BYTES} bytes", "ask for less")
    if mechanism.cells * mechanism.cohorts > MAX_CELLS:
        fields.problem("mechanism", f"has a tally over {MAX_CELLS} cells", "ask for less")
    for which, epsilon in (
        ("one report", mechanism.epsilon_report),
        ("one unchanging value", mechanism.epsilon_infinity or 0),
    ):
        if epsilon > MAX_EPSILON:
            fields.problem(
                "mechanism",
                f"costs {format_micro(epsilon)} for {which}, more than {MAX_EPSILON // MICRO}",
                "choose parameters that perturb more",
            )


def parse_metrics(
    tables: Mapping[str, Any], root: Fields, *, stored: bool = False
) -> dict[str, Metric]:
    """Build every metric. Raises RegistryError with every problem of every metric."""
    metrics: dict[str, Metric] = {}
    problems: list[Problem] = []
    for name, table in tables.items():
        try:
            if not isinstance(table, Mapping):
                root.problem(f"metrics.{name}", "is not a table", f"write [metrics.{name}]")
            metrics[name] = parse_metric(name, table, stored=stored)
        except RegistryError as error:
            problems.extend(error.problems)
    if problems:
        raise RegistryError(tuple(problems))
    return metrics
