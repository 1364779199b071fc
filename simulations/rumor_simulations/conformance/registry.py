"""The registry that the vectors are made with and that the judging collector offers."""

from __future__ import annotations

from functools import cache

from rumor_shared.registry import Registry, parse_registry

# The metric that a client under judgement records; any metric below will do as well.
EVERYDAY = "colour"

_METRICS = {
    "colour": 'mechanism = "krr"\nepsilon = 1.0\nvalues = ["red", "green", "blue"]',
    "switch": 'mechanism = "binary"\nepsilon = 1.0',
    "many": f'mechanism = "krr"\nepsilon = 2.0\nvalues = {[f"v{i}" for i in range(300)]}',
    "symmetric": 'mechanism = "sue"\nepsilon = 1.0\nvalues = ["a", "b", "c", "d", "e", "f", "g",'
    ' "h", "i"]',
    "optimal": 'mechanism = "oue"\nepsilon = 1.0\nvalues = ["a", "b", "c", "d", "e", "f", "g",'
    ' "h", "i", "j", "k"]',
    "homepage": 'mechanism = "rappor"\nbits = 128\nhashes = 2\ncohorts = 64\nf = 0.5\np = 0.25\n'
    "q = 0.75\nmax_values = 1",
    "fresh-homepage": 'mechanism = "rappor"\nbits = 32\nhashes = 2\ncohorts = 8\nf = 0\np = 0.25\n'
    "q = 0.75",
    "old-homepage": 'mechanism = "rappor"\nhashing = "rappor_md5"\nclient = "cpp"\nbits = 64\n'
    "hashes = 2\ncohorts = 32\nf = 0.5\np = 0.25\nq = 0.75\nmax_values = 1",
    "kept-colour": 'mechanism = "basic_rappor"\nf = 0.5\np = 0.25\nq = 0.75\nmax_values = 1\n'
    'values = ["red", "green", "blue"]',
    "few-of-many": f'mechanism = "subset"\nepsilon = 4.0\nvalues = {[f"v{i}" for i in range(64)]}',
    "some-of-few": 'mechanism = "subset"\nepsilon = 0.5\nvalues = ["a", "b", "c", "d", "e"]',
    "word": 'mechanism = "local_hashing"\nepsilon = 1.5\ncohorts = 256',
    "column": f'mechanism = "hadamard"\nepsilon = 1.0\nvalues = {[f"v{i}" for i in range(20)]}',
    "point": f'mechanism = "pgr"\nepsilon = 1.0\nvalues = {[f"v{i}" for i in range(20)]}',
    "sketch": 'mechanism = "cms"\nepsilon = 2.0\ncolumns = 64\ncohorts = 16',
    "signed-sketch": 'mechanism = "hcms"\nepsilon = 2.0\ncolumns = 64\ncohorts = 16',
}


def registry_text() -> str:
    """Return the registry file."""
    parts = ["[registry]", "max_age_days = 90", "daily_epsilon = 1000000.0", ""]
    for name, fields in _METRICS.items():
        parts += [
            f"[metrics.{name}]",
            "revision = 1",
            fields.replace("'", '"'),
            "daily_epsilon = 100000.0",
            'owner = "conformance@example.org"',
            'purpose = "conformance"',
            "expires = 2999-12-31",
            "",
        ]
    return "\n".join(parts)


@cache
def registry() -> Registry:
    """Return the registry."""
    return parse_registry(registry_text().encode())
