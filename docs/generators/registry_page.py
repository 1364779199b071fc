"""The registry reference: every field that the code reads, its bounds and its meaning."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from types import ModuleType
from typing import Any
from unittest.mock import patch

from docs.generators.explained import NOTICE, check_explained, meanings_of, table
from docs.generators.field_recorder import Field, absent_as, recorder

from rumor_shared import metric, registry
from rumor_shared.mechanisms.table import BUILT_IN, mechanism_class

_VALUES = {"values": ["a", "b"]}
_EPSILON = {"epsilon": Decimal(1)}
# A table for each way through a mechanism's reader, so that every question is asked.
_SAMPLES: dict[str, list[dict[str, Any]]] = {
    "binary": [{**_EPSILON, **_VALUES}],
    "krr": [{**_EPSILON, **_VALUES}],
    "sue": [{**_EPSILON, **_VALUES}],
    "oue": [{**_EPSILON, **_VALUES}],
    "subset": [{**_EPSILON, **_VALUES}],
    "pgr": [{**_EPSILON, **_VALUES, "field": 5}],
    "hadamard": [{**_EPSILON, **_VALUES}],
    "local_hashing": [{**_EPSILON, **_VALUES}],
    "cms": [{**_EPSILON, **_VALUES}],
    "hcms": [{**_EPSILON, **_VALUES}],
    "rappor": [
        {"bits": 1024, "epsilon_infinity": Decimal(4), "epsilon_first_report": Decimal(1)},
        {"bits": 1024, "f": Decimal("0.5"), "p": Decimal("0.5"), "q": Decimal("0.75")},
        {
            "bits": 1024,
            "hashing": "rappor_md5",
            "f": Decimal("0.5"),
            "p": Decimal("0.5"),
            "q": Decimal("0.75"),
        },
    ],
    "basic_rappor": [
        {**_VALUES, "epsilon_infinity": Decimal(4), "epsilon_first_report": Decimal(1)},
        {**_VALUES, "f": Decimal("0.5"), "p": Decimal("0.5"), "q": Decimal("0.75")},
    ],
}
MECHANISMS = {
    "epsilon": "Epsilon of one report. What is charged never exceeds it.",
    "values": "The closed domain, in an order that must not change within a revision.",
    "cohorts": "How many cohorts there are. Under `rappor` a device keeps its cohort, and eight "
    "bits of identity are the most; elsewhere each report draws one.",
    "hash_range": "How many cells a value is hashed to.",
    "field": "How many elements the field of the projective geometry has: a prime near "
    "e^epsilon + 1.",
    "columns": "How many columns a value is hashed to; a power of two under `hcms`.",
    "bits": "Length of the Bloom filter.",
    "hashes": "How many hashes set bits of the filter.",
    "hashing": "Which bits a value sets: `mix` is ours, `rappor_md5` that of Google's clients.",
    "client": "Under `rappor_md5`, whose devices report: `exact`, `python`, `cpp` or `java`.",
    "epsilon_infinity": "What all reports of one unchanging value cost together. Give it with "
    "`epsilon_first_report`, or give `f`, `p` and `q`.",
    "epsilon_first_report": "What a single report costs; below `epsilon_infinity`.",
    "f": "Probability that a bit of the permanent answer is a fair coin. 0 memoises nothing.",
    "p": "Probability that a permanent 0 is reported as 1.",
    "q": "Probability that a permanent 1 is reported as 1.",
    "max_values": "How many values get a permanent answer of their own. A later one answers from "
    "the slot that was filled last, so that such a change is not seen. A life costs at most "
    "`epsilon_infinity` times this.",
}

# What holds where a field is absent, where the code computes it or leaves it out.
ABSENT = {
    "registry.daily_epsilon": "the largest `daily_epsilon` of a metric",
    "registry.lifetime_epsilon": "no cap",
    "metrics.question": "the name",
    "metrics.family": "the name",
    "metrics.daily_epsilon": "the epsilon of one report",
    "metrics.lifetime_epsilon": "no cap",
    "metrics.min_new_reports": "as `min_reports`",
    "metrics.other": "none",
    "metrics.expected_devices": "unknown",
    "binary.values": '`["false", "true"]`',
    "local_hashing.values": "any text",
    "local_hashing.hash_range": "e^epsilon + 1, rounded",
    "cms.values": "any text",
    "hcms.values": "any text",
    "pgr.field": "the most exact prime",
    "rappor.f": "give `epsilon_infinity`",
    "rappor.p": "give `epsilon_infinity`",
    "rappor.q": "give `epsilon_infinity`",
    "rappor.epsilon_infinity": "give `f`, `p`, `q`",
    "rappor.max_values": "must be declared, unless f = 0",
    "basic_rappor.max_values": "must be declared, unless f = 0",
    "rappor.epsilon_first_report": "give `f`, `p`, `q`",
    "basic_rappor.f": "give `epsilon_infinity`",
    "basic_rappor.p": "give `epsilon_infinity`",
    "basic_rappor.q": "give `epsilon_infinity`",
    "basic_rappor.epsilon_infinity": "give `f`, `p`, `q`",
    "basic_rappor.epsilon_first_report": "give `f`, `p`, `q`",
}
REGISTRY = meanings_of(registry.Registry)
METRIC = meanings_of(metric.Metric)
_READS = {
    "day",
    "epsilon",
    "flag",
    "has",
    "integer",
    "power_of_two",
    "probability",
    "slug",
    "table",
    "text",
    "texts",
}


def page() -> str:
    """Return the page. Raises Unexplained for a field without a meaning, or the reverse."""
    top, every = _registry_fields()
    mechanisms = {name: mechanism_fields(name) for name in BUILT_IN}
    own = {key for fields in mechanisms.values() for key in fields}
    check_explained("[registry]", top, REGISTRY)
    check_explained("[metrics.NAME]", every, METRIC)
    check_explained("mechanisms", own, MECHANISMS)
    lines = [
        NOTICE,
        "",
        "# Registry reference",
        "",
        "The registry is one TOML file, read by the app and by the collector. A field that is not",
        "on this page is refused, by its path. `rumor registry check FILE` says what is wrong, and",
        "what each metric costs. An epsilon is read exactly, never as a binary float.",
        "",
        "## The table `[registry]`",
        "",
        *_table(top, REGISTRY),
        "## Each `[metrics.NAME]`",
        "",
        "NAME is 1 to 64 of a-z, 0-9, `_`, `.` and `-`, and begins with a letter. These fields are",
        "the same for every mechanism.",
        "",
        *_table(every, METRIC),
        "## Fields of each mechanism",
        "",
    ]
    for kind in dict.fromkeys(map(mechanism_class, BUILT_IN)):
        shared = [name for name in BUILT_IN if mechanism_class(name) is kind]
        lines += [f"### {', '.join(f'`{name}`' for name in shared)}", "", kind.about(), ""]
        shown = [mechanisms[name] for name in shared]
        if all(fields == shown[0] for fields in shown):
            lines += _table(shown[0], MECHANISMS)
            continue
        for name, fields in zip(shared, shown, strict=True):
            lines += [f"Under `{name}`:", "", *_table(fields, MECHANISMS)]
    return "\n".join(lines).rstrip() + "\n"


def mechanism_fields(name: str) -> dict[str, Field]:
    """Return the fields that a mechanism reads, by its samples."""
    made = recorder()
    for sample in _SAMPLES[name]:
        mechanism_class(name).from_fields(name, made(sample, name))
    fields = {key: field for (_, key), field in made.found.items()}
    return {
        key: absent_as(field, ABSENT[f"{name}.{key}"]) if f"{name}.{key}" in ABSENT else field
        for key, field in fields.items()
    }


def keys_in_source() -> set[str]:
    """Return every key that the readers' source asks for by name, whatever a sample reaches."""
    found: set[str] = set()
    for module in (metric, registry, *_modules()):
        found |= set(_keys(ast.parse(inspect.getsource(module))))
    return found


def _registry_fields() -> tuple[dict[str, Field], dict[str, Field]]:
    made = recorder()
    sample: Mapping[str, Any] = {
        "registry": {"lifetime_epsilon": 9},
        "metrics": {
            "sample": {
                **_SAMPLES["krr"][0],
                "mechanism": "krr",
                "revision": 1,
                "owner": "o",
                "purpose": "p",
                "expires": date.max,
                "lifetime_epsilon": 9,
                "other": "a",
                "expected_devices": 1,
            }
        },
    }
    with patch.object(metric, "Fields", made), patch.object(registry, "Fields", made):
        registry.registry_of(sample)
    # What krr itself asks for stands with its mechanism.
    own = set(mechanism_fields("krr"))
    top: dict[str, Field] = {}
    every: dict[str, Field] = {}
    for (path, key), field in made.found.items():
        if path == "registry":
            top[key] = _worded("registry", field)
        elif path == "metrics.sample" and key not in own:
            every[key] = _worded("metrics", field)
    return top, every


def _worded(table_: str, field: Field) -> Field:
    words = ABSENT.get(f"{table_}.{field.key}")
    return field if words is None else absent_as(field, words)


def _modules() -> list[ModuleType]:
    return [sys.modules[mechanism_class(name).__module__] for name in BUILT_IN]


def _table(fields: Mapping[str, Field], meanings: Mapping[str, str]) -> list[str]:
    rows = (
        (f"`{key}`", field.takes, _absent(field), meanings[key]) for key, field in fields.items()
    )
    return table(("field", "takes", "if absent", "meaning"), rows)


def _absent(field: Field) -> str:
    if field.absent is None:
        return "must be given"
    return field.absent or "see the meaning"


def _keys(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            function, first = node.func, node.args[0]
            if isinstance(function, ast.Attribute) and function.attr in _READS:
                yield from _text(first)
            elif isinstance(function, ast.Name) and function.id == "_choice":
                yield from _text(node.args[1])
        elif isinstance(node, ast.GeneratorExp | ast.For):
            over = node.iter if isinstance(node, ast.For) else node.generators[0].iter
            if isinstance(over, ast.Tuple):
                for element in over.elts:
                    yield from _text(element)


def _text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
