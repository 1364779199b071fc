"""The default path of the state file: in the data folder of this user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rumor_client.errors import ConfigurationError, StateUnavailable

STATE_NAME = "rumor.sqlite3"


def state_path(app: str | None, endpoint: str | None) -> Path:
    """Return the state file of `app`; without a name, of all apps that report to `endpoint`.

    The endpoint stands in because what is made for one collector must never reach another. Raises
    ConfigurationError for a name that is not a folder's, and StateUnavailable for a user who has no
    home.
    """
    if app is None:
        import hashlib  # an app that gives its name needs none

        app = hashlib.sha256((endpoint or "").encode()).hexdigest()[:16]
    if not app or app.startswith(".") or any(c in '/\\:*?"<>|' or c < " " for c in app):
        raise ConfigurationError("app", "is not a folder's name", "use letters and digits")
    return _data_folder() / "rumor" / app / STATE_NAME


def _data_folder() -> Path:
    if sys.platform == "win32":
        given = os.environ.get("LOCALAPPDATA")
        return Path(given) if given else _home("LOCALAPPDATA") / "AppData" / "Local"
    if sys.platform == "darwin":
        return _home("HOME") / "Library" / "Application Support"
    # The XDG base directory specification: a relative path is to be ignored.
    folder = Path(os.environ.get("XDG_DATA_HOME", ""))
    return folder if folder.is_absolute() else _home("XDG_DATA_HOME") / ".local" / "share"


def _home(variable: str) -> Path:
    try:
        home = Path.home()
    except (RuntimeError, KeyError):
        home = Path()
    if not home.is_absolute():
        raise StateUnavailable(f"this user has no home; give state=, or set {variable}")
    return home
