"""What the golden files record, a function a subject: each returns what JSON can hold."""

import dataclasses
import hashlib
import inspect
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.golden import plain
from tests.golden.opening import Opened, opened, rumor
from tests.golden.world import (
    FIRST,
    NEWEST,
    PAGES,
    TODAY,
    WORDS,
    ago,
    base64,
    batches,
    named,
)

import rumor_client
import rumor_client.testing

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_JSON = {"Content-Type": "application/json"}
_METRICS = re.findall(r"^\[metrics\.(.+)\]$", NEWEST, re.MULTILINE)
_CANDIDATES = {"page": PAGES, "old-page": PAGES, "word": WORDS, "sketch": WORDS, "signed": WORDS}
_COMPARISON = {
    "from": ago(1),
    "to": TODAY,
    "compare_from": ago(2),
    "compare_to": ago(2),
    "revision": 2,
}


# Pages that are kept to the last letter; of the others their addresses and tables are.
_WHOLE = ("index", "theme-compared", "page", "rare", "subset", "unknown")


# What is written at times is written at the end alone: else an answer would depend on the moment.
_QUIET = {"refresh_seconds": 3600}


@contextmanager
def filled(folder: Path) -> Iterator[Opened]:
    """Run a collector that counted every report of the golden world, `theme` in two revisions."""
    database = folder / "rumor.sqlite3"
    for registry in (FIRST, NEWEST):
        with opened(database, registry, TODAY, **_QUIET) as running:
            for batch in batches(registry):
                running.count(batch)
    with opened(database, NEWEST, TODAY, **_QUIET) as running:
        yield running


def routes(running: Opened) -> dict[str, Any]:
    """Every JSON and CSV route of the API, with its statuses and headers."""
    found = {}

    def keep(path: str, method: str = "GET", **given: Any) -> None:
        found[f"{method} {path}"] = plain.answer(running.ask(path, method, **given))

    for path in ("/healthz", "/readyz", "/version", "/v1/registry", "/v1/metrics"):
        keep(path)
    for name in _METRICS:
        texts = urlencode([("candidate", one) for one in _CANDIDATES.get(name, [])])
        keep(f"/v1/metrics/{name}/estimates" + (f"?{texts}" if texts else ""))
    theme = "/v1/metrics/theme/estimates"
    for query in (
        f"from={ago(1)}&to={ago(1)}", "revision=1", "alpha=0.1", "fakes=0.05", "robust=0.05",
        "limit=2", "limit=2&offset=2", "format=csv", "revision=9", "alpha=2", "from=never",
        "unknown=1", "limit=0",
    ):  # fmt: skip
        keep(f"{theme}?{query}")
    for name in _METRICS:
        keep(f"/v1/metrics/{name}/ranks")
        keep(f"/v1/metrics/{name}/watch")
    keep("/v1/metrics/theme/ranks?format=csv&revision=1&limit=2")
    keep("/v1/metrics/page/estimates")
    keep("/v1/metrics/nothing/estimates")
    body = json.dumps({"candidates": PAGES}).encode()
    for query in ("", "?format=csv", "?limit=2"):
        keep(f"/v1/metrics/page/estimates{query}", "POST", body=body, headers=_JSON)
    keep("/v1/metrics/page/estimates", "POST", body=b"{}", headers=_JSON)
    keep("/v1/metrics", "HEAD")
    keep("/v1/metrics", "DELETE")
    keep("/v1/reports")
    keep("/nowhere")
    etag = running.ask("/v1/metrics").headers["etag"]
    found["unchanged"] = plain.answer(running.ask("/v1/metrics", headers={"If-None-Match": etag}))
    found["as CSV"] = plain.answer(running.ask(theme, headers={"Accept": "text/csv"}))
    return _common_headers(found)


def openapi(running: Opened) -> dict[str, Any]:
    """The OpenAPI document, and which release of its writers wrote it."""
    document = running.ask("/openapi.json").json
    return {"fastapi": version("fastapi"), "pydantic": version("pydantic"), **document}


def metrics(running: Opened) -> list[str]:
    """The page for Prometheus, without what was timed or is this disk's."""
    sent = next(iter(batches(NEWEST)))
    for day in (sent["day"], str(ago(-3))):
        body = json.dumps({**sent, "day": day}, separators=(",", ":")).encode()
        assert running.ask("/v1/reports", "POST", body, _JSON).status == 200
    assert running.ask("/v1/reports", "POST", b"{}", _JSON).status == 400
    lines = running.ask("/metrics").body.decode().splitlines()
    timed = re.compile(r"^((?:rumor_commit_seconds_(?:bucket|sum)|rumor_disk)\S*) .*")
    return [timed.sub(r"\1 MASKED", line) for line in lines]


def pages(running: Opened) -> dict[str, Any]:
    """The dashboard as HTML, CSV and JSON, and the permalinks that its pages lead to."""
    upload = "\n".join(PAGES)
    sent = running.ask(
        f"/metric/page/candidates?from={ago(2)}",
        "POST",
        urlencode({"texts": upload}).encode(),
        _FORM,
    )
    listed = sent.headers["location"]
    compared = "/metric/theme?" + urlencode(_COMPARISON)
    asked = {
        "index": "/", "theme": "/metric/theme", "theme-compared": compared, "page": listed,
        "page-unasked": "/metric/page", "rare": "/metric/rare", "quiet": "/metric/quiet",
        "old": "/metric/old", "subset": "/metric/few", "unknown": "/metric/nothing",
        "wrong": "/metric/theme?top=0",
    }  # fmt: skip
    found: dict[str, Any] = {"upload": plain.answer(sent)}
    links: dict[str, list[str]] = {}
    for name, path in asked.items():
        got = running.ask(path, headers={"Accept": "text/html"})
        page = plain.html(got)
        head = plain.answer(got)
        found[name] = {"path": path, "status": head["status"], "headers": head["headers"]}
        if name in _WHOLE:
            found[f"{name}.html"] = page
        links[name] = sorted(set(re.findall(r'(?:href|action)="([^"]+)"', page)))
        glue = "&" if "?" in path else "?"
        for format_ in ("csv", "json") if name in _WHOLE else ("csv",):
            found[f"{name} as {format_}"] = plain.answer(
                running.ask(f"{path}{glue}format={format_}")
            )
    for part in ("trend", "comparison"):
        got = running.ask(f"{compared}&part={part}&format=csv")
        found[f"{part} as csv"] = plain.answer(got)
    found = _common_headers(found)
    found["links"] = links
    return found


def access(folder: Path) -> dict[str, Any]:
    """What is answered with no key, a wrong one, one for something else, and the right one."""
    database, found = folder / "closed.sqlite3", {}
    where = ("--database", str(database), "--expires", "2999-12-31")
    keys = {
        scope: rumor("keys", "create", scope, "--scope", scope, *where, folder=folder).out.strip()
        for scope in ("ingest", "analyst")
    }
    keys = {"none": "", "wrong": "rumor_wrong", **keys}
    settings = {f"{name}_access": "key" for name in ("ingest", "read", "metrics")}
    with opened(database, NEWEST, TODAY, **settings) as running:
        for path in ("/", "/healthz", "/v1/metrics", "/v1/registry", "/metrics", "/openapi.json"):
            for name, key in keys.items():
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                got = plain.answer(running.ask(path, headers=headers))
                if got["status"] == 200:
                    got["body"] = "..."
                found[f"{path} {name}"] = got
        batch = json.dumps(
            {"sdk": "golden/1", "day": str(TODAY), "pseudonym": base64(named("a")), "reports": []}
        ).encode()
        for name, key in keys.items():
            headers = _JSON | ({"Authorization": f"Bearer {key}"} if key else {})
            sent = running.ask("/v1/reports", "POST", batch, headers)
            found[f"/v1/reports {name}"] = plain.answer(sent)
    return _common_headers(found)


def help_texts(folder: Path) -> dict[str, Any]:
    """What every command says of itself."""
    names = sorted(entry_points(group="rumor.commands").names)
    below = {
        "conformance": ["vectors", "registry", "serve"], "db": ["status", "upgrade"],
        "device": ["status", "view", "consent", "forget"], "import": ["rappor"],
        "keys": ["create", "list", "revoke"], "registry": ["check", "mechanisms"],
        "tallies": ["export", "merge"],
    }  # fmt: skip
    asked = [
        (name, *more) for name in names for more in [(), *((one,) for one in below.get(name, []))]
    ]
    found = {"": plain.ran(rumor("--help", folder=folder), folder)}
    for words in asked:
        found[" ".join(words)] = plain.ran(rumor(*words, "--help", folder=folder), folder)
    return {"typer": version("typer"), "commands": found}


def commands(running: Opened, folder: Path) -> dict[str, Any]:
    """What commands print of the golden world, and of a database that they make."""
    (folder / "metrics.toml").write_text(NEWEST, "utf-8")
    (folder / "pages.txt").write_text("\n".join(PAGES), "utf-8")
    (folder / "auto.toml").write_text(_AUTO, "utf-8")
    (folder / "rumor.toml").write_text("port = 9000\nqueue_reports = 1000\n", "utf-8")
    (folder / "wrong.toml").write_text("prot = 9000\n", "utf-8")
    query = ("query", "--url", running.url)
    new = ("--database", "new.sqlite3")
    plan = ("plan", "--values", "16", "--epsilon", "1")
    device = ("device", "--registry", "metrics.toml", "--state", "state")
    asked = [
        (*query, "theme"), (*query, "theme", "--top", "2", "--revision", "1"), (*query, "rare"),
        (*query, "theme", "--json", "--from", str(ago(1)), "--alpha", "0.1"), (*query, "quiet"),
        (*query, "page"), (*query, "page", "--candidates", "pages.txt"), (*query, "nothing"),
        (*query, "theme", "--from", "never"),
        (*plan, "--devices", "10000"), (*plan, "--devices", "10000", "--json"),
        (*plan, "--accuracy", "0.01"), (*plan, "--devices", "10000", "--max-bytes", "1"),
        ("plan", "--values", "16", "--devices", "10000", "--accuracy", "0.01"),
        ("plan", "--values", "16"), ("plan", "--write", "auto.toml"),
        ("registry", "check", "metrics.toml"), ("registry", "check", "metrics.toml", "--json"),
        ("registry", "check", "wrong.toml"), ("registry", "check", "nothing.toml"),
        ("registry", "mechanisms"), ("registry", "mechanisms", "--json"),
        ("settings", "--json"), ("settings", "--settings", "rumor.toml"),
        ("settings", "--markdown"),
        ("settings", "--settings", "wrong.toml"),
        ("db", "status", *new), ("keys", "list", *new),
        ("keys", "create", "phones", "--scope", "ingest", "--day-reports", "9", *new),
        ("keys", "create", "phones", "--scope", "ingest", *new), ("keys", "list", *new),
        ("keys", "revoke", "phones", *new), ("keys", "list", "--json", *new),
        ("keys", "revoke", "tablets", *new),
        ("db", "status", *new), ("db", "status", "--json", *new),
        ("db", "upgrade", *new), ("tallies", "export", "none.npz", *new),
        (*device, "status"), (*device, "consent", "grant"), (*device, "status"),
        (*device, "--json", "status"), (*device, "view"), (*device, "--json", "view"),
        (*device, "consent", "deny", "--purpose", "to test"), (*device, "--json", "consent"),
        (*device, "forget"), ("device", "--registry", "metrics.toml", "status"),
        ("doctor", "--registry", "auto.toml", *new),
        ("doctor", "--registry", "auto.toml", "--json", *new), ("nothing",), ("--version",),
    ]  # fmt: skip
    found = []
    for words in asked:
        got = plain.ran(rumor(*words, folder=folder), folder)
        shown = ["URL" if word == running.url else word for word in words]
        found.append({"rumor": " ".join(shown), **_masked(words, got)})
    return {"runs": found, "written": (folder / "auto.toml").read_text("utf-8").splitlines()}


_AUTO = """[registry]
daily_epsilon = 8.0

[metrics.theme]
revision = 1
mechanism = "auto"
epsilon = 1.0
expected_devices = 10000
values = ["light", "dark", "system"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""


def tallies(folder: Path) -> list[Any]:
    """What is printed as tallies leave one database and come to another, some days closed."""
    database = ("--database", "rumor.sqlite3")
    # A clock that goes further at once is not believed.
    for days in (2, 4):
        with opened(folder / "rumor.sqlite3", NEWEST, ago(-days)) as running:
            deadline = time.monotonic() + 20
            while b"rumor_database_closed_days_ago 8" not in running.ask("/metrics").body:
                assert time.monotonic() < deadline, "days were not closed"
                time.sleep(0.01)
    (folder / "first.toml").write_text(FIRST, "utf-8")
    other = ("--database", "other.sqlite3", "--registry", "first.toml")
    asked = [
        ("tallies", "export", "all.npz", *database),
        ("tallies", "export", "theme.npz", "--metric", "theme", "--from", str(ago(5)), "--json",
         *database),
        ("tallies", "export", "none.npz", "--metric", "quiet", *database),
        ("tallies", "merge", "all.npz", *other), ("tallies", "merge", "all.npz", *other),
        ("tallies", "merge", "theme.npz", "--json", *other),
    ]  # fmt: skip
    return [
        {"rumor": " ".join(words), **plain.ran(rumor(*words, folder=folder), folder)}
        for words in asked
    ]


def schema(folder: Path) -> dict[str, Any]:
    """The tables of the collector's file and the device's, and what each metric's bits mean."""
    state = folder / "schema-state"
    with rumor_client.Client(NEWEST.encode(), state=state, environ={}, policy="") as client:
        client.consent.grant()
    with closing(sqlite3.connect(folder / "rumor.sqlite3")) as database:
        meanings = database.execute(
            "SELECT metric, revision, fingerprint, registry FROM series ORDER BY 1, 2"
        ).fetchall()
    return {
        "collector": _tables(folder / "rumor.sqlite3"),
        "device": _tables(state),
        "series": [list(row) for row in meanings],
    }


def public(folder: Path) -> dict[str, Any]:
    """What apps, operators and other packages name: it stays where it is."""
    groups = ("rumor.commands", "rumor.checks", "rumor.mechanisms", "console_scripts")
    settings = json.loads(rumor("settings", "--json", folder=folder).out)
    vectors = json.loads(rumor("conformance", "vectors", folder=folder).out)
    return {
        "rumor_client": {
            name: _shape(getattr(rumor_client, name)) for name in rumor_client.__all__
        },
        "rumor_client.testing": {
            name: _shape(getattr(rumor_client.testing, name))
            for name in rumor_client.testing.__all__
        },
        "entry points": {
            group: sorted(
                f"{one.name} {one.extras}"
                for one in entry_points(group=group)
                if one.dist and one.dist.name == "rumor"
            )
            for group in groups
        },
        "settings": list(settings),
        "vectors": _sha256(json.dumps(vectors, sort_keys=True)),
        "conformance registry": _sha256(rumor("conformance", "registry", folder=folder).out),
    }


def _shape(thing: Any) -> Any:
    """Return a public name's parameters, fields or members, without annotations."""
    if inspect.isclass(thing) and hasattr(thing, "__members__"):
        return {name: str(member.value) for name, member in thing.__members__.items()}
    methods = [
        f"{name}{_parameters(member)}"
        for name, member in inspect.getmembers(thing, callable)
        if inspect.isclass(thing)
        and not name.startswith("_")
        and str(getattr(member, "__module__", "")).startswith("rumor")
    ]
    if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        names = getattr(thing, "_fields", None) or [one.name for one in dataclasses.fields(thing)]
        return [*names, *methods]
    # How a protocol is made is Python's own affair.
    made = [] if getattr(thing, "_is_protocol", False) else [_parameters(thing)]
    return [*made, *methods]


def _parameters(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    bare = [
        one.replace(
            annotation=inspect.Parameter.empty,
            default=one.default if isinstance(one.default, str | int | float | None) else "...",
        )
        if one.default is not inspect.Parameter.empty
        else one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute(
            "SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name"
        ).fetchall()
        versions = [database.execute(f"PRAGMA {name}").fetchone() for name in _PRAGMAS]
    tables = [re.sub(r"\s+", " ", sql) for (sql,) in rows]
    return [
        *tables,
        *(f"{name} {value}" for name, (value,) in zip(_PRAGMAS, versions, strict=True)),
    ]


_PRAGMAS = ("user_version", "application_id")


def _masked(words: tuple[str, ...], got: dict[str, Any]) -> dict[str, Any]:
    """Hide what a run draws at random or reads off this machine."""
    told = json.dumps(got)
    if words[0] == "keys":
        told = re.sub(r"\brumor_[\w-]+|\b[0-9a-f]{8,}\b", "DRAWN", told)
    if words[0] == "doctor":
        told = re.sub(r"(?<=\W)\d[\d.,]* MiB", "N MiB", told)
        told = re.sub(r'"\w+ workers [^"]*"', '"workers MASKED"', told)
        told = re.sub(r'"\w+", "about": "workers", "detail": "[^"]*"', '"workers MASKED"', told)
    masked: dict[str, Any] = json.loads(told)
    return masked


def _common_headers(found: dict[str, Any]) -> dict[str, Any]:
    """Name the headers that all answers share once."""
    told = [one["headers"] for one in found.values() if isinstance(one, dict)]
    common = {k: v for k, v in told[0].items() if all(one.get(k) == v for one in told)}
    for headers in told:
        for name in common:
            del headers[name]
    return {"common headers": common, **found}


def _sha256(found: str) -> str:
    return hashlib.sha256(found.encode()).hexdigest()
