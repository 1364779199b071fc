"""Every setting of the collector in one table: what it is, and what it is if nobody gives it.

A command's option wins over the environment (`RUMOR_` and the name in capitals), the environment
over the settings file (TOML, the same names), the file over the default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from rumor_server.errors import SettingsError

LOG_LEVELS = ("critical", "error", "warning", "info", "debug")
PREFIX = "RUMOR_"
REGISTRY = Path("metrics.toml")
DATABASE = Path("rumor.sqlite3")


class About(NamedTuple):
    """What a setting means, and the range of a number."""

    meaning: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Settings:
    """How one collector runs. Made by `load_settings`, or by hand in tests."""

    registry: Annotated[Path, About("the registry file")] = REGISTRY
    database: Annotated[Path, About("the SQLite file; made if absent")] = DATABASE
    host: Annotated[str, About("the address to listen on")] = "127.0.0.1"
    port: Annotated[int, About("the port to listen on; 0 takes a free one", 0, 65_535)] = 8000
    log_level: Annotated[str, About("one of " + ", ".join(LOG_LEVELS))] = "info"
    queue_reports: Annotated[
        int, About("how many reports may wait for the writer before 503", 500, 1_000_000)
    ] = 20_000
    body_seconds: Annotated[float, About("how long a request's body may take", 0.1, 3600)] = 20
    busy_seconds: Annotated[float, About("how long a commit waits for others", 0, 600)] = 5
    drain_seconds: Annotated[float, About("how long a stopping server may write", 0, 600)] = 10
    reserve_bytes: Annotated[
        int, About("free disk space below which reports are refused with 507", 0, 2**50)
    ] = 64 << 20
    close_seconds: Annotated[
        float, About("how often days past their age are closed, in seconds", 1, 86_400)
    ] = 3600


def table() -> dict[str, tuple[type, About]]:
    """Return the type and the meaning of every setting by its name."""
    hints = get_type_hints(Settings, include_extras=True)
    return {name: get_args(hint)[:2] for name, hint in hints.items()}


def load_settings(
    options: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    file: Path | None = None,
) -> Settings:
    """Return the settings from options (None means not given), environment and file.

    Raises SettingsError with the name of the first one that is wrong; OSError for a missing file.
    """
    known = table()
    given: dict[str, Any] = {} if file is None else _read(file)
    for name in given:
        if name not in known:
            raise SettingsError(name, "is not a setting", "remove it from the file")
    for name, (kind, about) in known.items():
        variable = PREFIX + name.upper()
        if variable in environment:
            given[name] = _parse(variable, environment[variable], kind, about)
    given |= {name: value for name, value in options.items() if value is not None}
    return Settings(**{name: _check(name, value, *known[name]) for name, value in given.items()})


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(file.name, f"is not TOML ({error})", "mend the syntax") from None


def _parse(variable: str, text: str, kind: type, about: About) -> Any:
    if kind not in {int, float}:
        return text
    try:
        return kind(text)
    except ValueError:
        raise SettingsError(variable, "is not such a number", f"it is {about.meaning}") from None


def _check(name: str, value: Any, kind: type, about: About) -> Any:
    if about.low is None or about.high is None:
        if not isinstance(value, str | Path) or not str(value):
            raise SettingsError(name, "is not text", f"it is {about.meaning}")
        if name == "log_level" and value not in LOG_LEVELS:
            raise SettingsError(name, "is not a level", f"choose {about.meaning}")
        return kind(value)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise SettingsError(name, "is not such a number", f"it is {about.meaning}")
    if not about.low <= value <= about.high:
        raise SettingsError(name, "is out of range", f"choose {about.low:g} to {about.high:g}")
    return value
