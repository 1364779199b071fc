"""Every setting of the collector in one table: what it is, and what it is if nobody gives it.

A command's option wins over the environment (`RUMOR_` and the name in capitals), the environment
over the settings file (TOML, the same names), the file over the default.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints
from urllib.parse import urlsplit

from rumor_server.errors import SettingsError

LOG_LEVELS = ("critical", "error", "warning", "info", "debug")
LOG_FORMATS = ("json", "text")
# Empty: open where only this machine can call, refused to start elsewhere until someone chooses.
ACCESS = ("", "open", "key")
PREFIX = "RUMOR_"
REGISTRY = Path("metrics.toml")
DATABASE = Path("rumor.sqlite3")
# Variables of the device's commands, of the query commands and of the look-up of this file.
_OTHERS = frozenset(
    PREFIX + name for name in ("CONSENT", "ENDPOINT", "KEY", "POLICY", "SETTINGS", "STATE", "URL")
)
# A Service named `rumor` sets RUMOR_PORT=tcp://10.43.0.17:8000 and a dozen others in every pod.
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://[0-9a-fA-F.:\[\]]+")
_SERVICE_NAME = re.compile(
    PREFIX + r"([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
    r"|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_NUMBER = {
    int: re.compile(r"-?[0-9]{1,20}"),
    float: re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?"),
}
# So much of a value that is no number is repeated: more would be a page.
_SHOWN = 40
_POSTGRES = ("postgresql://", "postgres://")
RECEIPTS = Path("rumor.receipts")
CANDIDATES = Path("rumor.candidates")


class About(NamedTuple):
    """What a setting means, the range of a number, the choices of a text, whether to hide it."""

    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    optional: bool = False


def _access(what: str) -> About:
    meaning = f'who may {what}: "open" to all, or "key"; not given, it is open on loopback alone'
    return About(meaning, choices=ACCESS, optional=True)


@dataclass(frozen=True)
class Settings:
    """How one collector runs. Made by `load_settings`, or by hand in tests."""

    registry: Annotated[Path, About("the registry file")] = REGISTRY
    database: Annotated[Path, About("the SQLite file; made if absent")] = DATABASE
    database_url: Annotated[
        str,
        About(
            "a PostgreSQL database, postgresql://...; then no SQLite file is used",
            secret=True,
            optional=True,
        ),
    ] = ""
    receipts: Annotated[
        Path, About("the folder of retractions' receipts, from the database's folder")
    ] = RECEIPTS
    candidates: Annotated[
        Path, About("the folder of uploaded candidate lists, from the database's folder")
    ] = CANDIDATES
    host: Annotated[str, About("the address to listen on")] = "127.0.0.1"
    port: Annotated[int, About("the port to listen on; 0 takes a free one", 0, 65_535)] = 8000
    ingest_access: Annotated[str, _access("send reports")] = ""
    read_access: Annotated[str, _access("read estimates and the dashboard")] = ""
    metrics_access: Annotated[str, _access("scrape /metrics")] = ""
    address_requests: Annotated[
        int,
        About("requests a minute from one address without a key, a process; 0 is no limit", 0, 1e9),
    ] = 0
    trusted_proxies: Annotated[
        str,
        About(
            "addresses and networks, with commas, whose X-Forwarded-For is believed", optional=True
        ),
    ] = ""
    cors_origins: Annotated[
        str, About("origins, with commas, whose pages may call; none by default", optional=True)
    ] = ""
    log_level: Annotated[str, About("one of " + ", ".join(LOG_LEVELS), choices=LOG_LEVELS)] = "info"
    log_format: Annotated[str, About("json, one object a line, or text", choices=LOG_FORMATS)] = (
        "json"
    )
    queue_reports: Annotated[
        int, About("how many reports may wait for the writer before 503", 500, 1_000_000)
    ] = 20_000
    open_requests: Annotated[
        int, About("how many requests may be answered at a time before 503", 1, 100_000)
    ] = 1_000
    header_seconds: Annotated[
        float, About("how long a request's headers may take before the socket is cut", 0.1, 3600)
    ] = 10
    body_seconds: Annotated[float, About("how long a request's body may take", 0.1, 3600)] = 20
    write_seconds: Annotated[
        float, About("how long a client may read nothing of an answer", 0.1, 3600)
    ] = 20
    idle_seconds: Annotated[
        float,
        About("how long a connection is kept without a request; more than a proxy does", 1, 86_400),
    ] = 620
    root_path: Annotated[
        str, About("the path under which a proxy offers the collector, as /rumor", optional=True)
    ] = ""
    busy_seconds: Annotated[float, About("how long a commit waits for others", 0, 600)] = 5
    drain_seconds: Annotated[float, About("how long a stopping server may write", 0, 600)] = 10
    reserve_bytes: Annotated[
        int, About("free disk space below which reports are refused with 507", 0, 2**50)
    ] = 64 << 20
    close_seconds: Annotated[
        float, About("how often days past their age are closed, in seconds", 1, 86_400)
    ] = 3600
    refresh_seconds: Annotated[
        float, About("how often keys are read anew and counters written, in seconds", 0.1, 3600)
    ] = 2

    @property
    def database_name(self) -> str:
        """Where the database is: a file's whole path, or an address without its password."""
        if not self.database_url:
            return str(self.database.absolute())
        found = urlsplit(self.database_url)
        user, _, host = found.netloc.rpartition("@")
        name, _, _ = user.partition(":")
        # A password may stand among the parameters too.
        return f"{found.scheme}://{name}{'@' if name else ''}{host}{found.path}"

    @property
    def receipts_folder(self) -> Path:
        """Where receipts of retractions are kept."""
        return self.database.absolute().parent / self.receipts

    @property
    def candidates_folder(self) -> Path:
        """Where uploaded lists of candidates are kept."""
        return self.database.absolute().parent / self.candidates


def table() -> dict[str, tuple[type, About]]:
    """Return the type and the meaning of every setting by its name."""
    hints = get_type_hints(Settings, include_extras=True)
    return {name: get_args(hint)[:2] for name, hint in hints.items()}


class Shown(NamedTuple):
    """A setting as people read it: a secret's value is hidden."""

    name: str
    value: str
    default: str
    variable: str
    meaning: str


def shown(settings: Settings) -> list[Shown]:
    """Return every setting with its value, for `rumor settings` and the documentation."""
    known = table()
    return [
        Shown(
            one.name,
            _text(getattr(settings, one.name), known[one.name][1]),
            _text(one.default, known[one.name][1]),
            PREFIX + one.name.upper(),
            known[one.name][1].meaning,
        )
        for one in fields(Settings)
    ]


def _text(value: Any, about: About) -> str:
    return "(hidden)" if about.secret and value else str(value)


def load_settings(
    options: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    file: Path | None = None,
) -> Settings:
    """Return the settings from options (None means not given), environment and file.

    What an option overrides is not looked at. Raises SettingsError with the name of the first one
    that is wrong, and for a variable that is nearly one of ours; OSError for a missing file.
    """
    known = table()
    of_file = {} if file is None else _read(file)
    for name in of_file:
        if name not in known:
            near = _nearest(name, known)
            raise SettingsError(
                name, "is not a setting", f"did you mean {near}?" if near else "remove it"
            )
    of_call = {
        name: _parse(name, value, *known[name]) if isinstance(value, str) else value
        for name, value in options.items()
        if value is not None
    }
    overridden = {*of_call, *(["database_url"] if "database" in of_call else [])}
    for variable in foreign_variables(environment):
        near = _nearest(variable.removeprefix(PREFIX).lower(), known)
        if near:
            raise SettingsError(
                variable,
                "is not a variable of Rumor",
                f"did you mean {PREFIX}{near.upper()}? Else name it otherwise",
            )
    of_environment = {
        name: _parse(PREFIX + name.upper(), environment[PREFIX + name.upper()], kind, about)
        for name, (kind, about) in known.items()
        if PREFIX + name.upper() in environment
        and name not in overridden
        and not _is_of_kubernetes(PREFIX + name.upper(), environment)
    }
    given: dict[str, Any] = {}
    for source in (of_file, of_environment, of_call):
        if "database" in source:
            # Who names a file means it, whatever address a source of less weight gave.
            given["database_url"] = ""
        given |= source
    if str(given.get("database", "")).startswith(_POSTGRES):
        given["database_url"] = given.pop("database")
    return Settings(**{name: _check(name, value, *known[name]) for name, value in given.items()})


def foreign_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that begin as ours do and are none, nor Kubernetes' or the client's."""
    ours = {PREFIX + name.upper() for name in table()} | _OTHERS
    return sorted(
        name
        for name in environment
        if name.startswith(PREFIX) and name not in ours and not _is_of_kubernetes(name, environment)
    )


def service_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables of ours that Kubernetes set, for a Service that is named `rumor`."""
    names = [PREFIX + name.upper() for name in table()]
    return [name for name in names if _is_of_kubernetes(name, environment)]


def _is_of_kubernetes(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether a variable is one that Kubernetes sets in every pod for each Service."""
    if _SERVICE_NAME.fullmatch(name):
        return True
    is_port = name.endswith("_PORT") and name in environment
    return is_port and _SERVICE_ADDRESS.fullmatch(environment[name]) is not None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return found[0] if found else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except UnicodeDecodeError:
        raise SettingsError(file.name, "is not UTF-8", "save it so") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(file.name, f"is not TOML ({error})", "mend the syntax") from None
    except (ValueError, RecursionError):
        # Python's own bounds: 4300 digits, a thousand calls in each other.
        long = "has a number or a nesting too long to read"
        raise SettingsError(file.name, long, "shorten it") from None


def _parse(name: str, text: str, kind: type, about: About) -> Any:
    """Return a number that is written in digits, and any text as it is."""
    if kind not in {int, float}:
        return text
    # int() and float() would take blanks, underscores and the digits of every script.
    if not _NUMBER[kind].fullmatch(text):
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        raise SettingsError(name, f"is {shown!a}, not such a number", f"it is {about.meaning}")
    return kind(text)


def _check(name: str, value: Any, kind: type, about: About) -> Any:
    if about.low is None or about.high is None:
        is_text = isinstance(value, str | Path) and "\0" not in str(value)
        if not is_text or not (str(value) or about.optional):
            raise SettingsError(name, "is not text", f"it is {about.meaning}")
        if about.choices and value not in about.choices:
            raise SettingsError(name, "is not a choice", f"it is {about.meaning}")
        if name == "database":
            _check_database(str(value))
        elif name == "database_url" and value and not str(value).startswith(_POSTGRES):
            raise SettingsError(name, *_NO_DATABASE)
        return kind(value)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise SettingsError(name, "is not such a number", f"it is {about.meaning}")
    if not about.low <= value <= about.high:
        raise SettingsError(name, "is out of range", f"choose {about.low:g} to {about.high:g}")
    return value


_NO_DATABASE = (
    "is not an address of PostgreSQL that is known here",
    "write postgresql://user:password@host/name, without blanks around it, or name a file",
)


def _check_database(name: str) -> None:
    """Refuse what SQLite would not keep in a file of that name, and addresses with a mistake.

    Nothing of it is repeated: an address holds a password.
    """
    if name.lower().startswith(("file:", ":")):
        raise SettingsError("database", "is not the name of a file", "name a file on a disk")
    if "://" in name or re.search(r"\b(host|dbname|user|password|service)\s*=", name):
        raise SettingsError("database", *_NO_DATABASE)
    if name != name.strip():
        raise SettingsError("database", "begins or ends with a blank", "remove it")
