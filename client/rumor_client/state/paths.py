"""The default path of the state file: in the data folder of this user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rumor_client.errors import ConfigurationError

STATE_NAME = "rumor.sqlite3"


def state_path(app: str | None, endpoint: str | None) -> Path:
    """Return the state file of `app`; without a name, of all apps that report to `endpoint`.

    The endpoint stands in because what is made for one collector must never reach another. Raises
    ConfigurationError for a name that is not a folder's.
    """
    if app is None:
        import hashlib  # an app that gives its name needs none

        app = hashlib.sha256((endpoint or "").encode()).hexdigest()[:16]
    if not app or app.startswith(".") or any(c in '/\\:*?"<>|' or c < " " for c in app):
        raise ConfigurationError("app", "is not a folder's name", "use letters and digits")
    return _data_folder() / "rumor" / app / STATE_NAME


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    # The XDG base directory specification: a relative path is to be ignored.
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "share"
