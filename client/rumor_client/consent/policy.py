"""Denials from outside the app: the environment and the machine's policy file. They can only deny.

`DO_NOT_TRACK` denies unless it is unset, empty, `0`, `false`, `no` or `off`.
`RUMOR_CONSENT` denies unless it is unset, empty, `granted`, `1`, `true`, `yes`, `on` or `unset`.
The policy file denies everything with `consent = "denied"`, and one purpose so:

    [purposes]
    "product improvement" = "denied"

"granted" has no effect there, nor has a missing file. What can't be understood denies everything,
an empty file too. Case and blanks around a variable's text are ignored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

POLICY_NAME = "policy.toml"

_TRACKING_ALLOWED = frozenset({"", "0", "false", "no", "off"})
_CONSENT_ALLOWED = frozenset({"", "granted", "1", "true", "yes", "on", "unset"})
# A policy is a handful of lines; a larger file is not one.
_MAX_POLICY_BYTES = 64 * 1024


def denied_by_environment(environ: Mapping[str, str]) -> str | None:
    """Return the name of the variable that denies, or None."""
    if environ.get("DO_NOT_TRACK", "").strip().lower() not in _TRACKING_ALLOWED:
        return "DO_NOT_TRACK"
    if environ.get("RUMOR_CONSENT", "").strip().lower() not in _CONSENT_ALLOWED:
        return "RUMOR_CONSENT"
    return None


def default_policy_path() -> Path:
    """Return where the administrator of this machine puts a policy for all apps."""
    if sys.platform == "win32":
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData"), "Rumor", POLICY_NAME)
    if sys.platform == "darwin":
        return Path("/Library/Application Support/Rumor", POLICY_NAME)
    return Path("/etc/rumor", POLICY_NAME)


class Policy:
    """The policy file, read again whenever it changes."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = os.fspath(path if path is not None else default_policy_path())
        # Bound to where it is now, whatever the process does later; nothing is no file.
        self._path = os.path.abspath(os.path.expanduser(given)) if given else given  # noqa: PTH100, PTH111 - pathlib costs what the rest does together
        self._stamp: tuple[int, int, int] | None = None
        self._denies_all = False
        self._denied: frozenset[str] = frozenset()

    def denies(self, purpose: str) -> bool:
        """Return whether the file denies `purpose`. A file that can't be understood denies all."""
        self._refresh()
        return self._denies_all or purpose in self._denied

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a Path costs five times the call, per record
        except (FileNotFoundError, NotADirectoryError):
            self._stamp, self._denies_all, self._denied = None, False, frozenset()
            return
        except OSError:
            self._stamp, self._denies_all = None, True
            return
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            self._read()
            self._stamp = stamp

    def _read(self) -> None:
        try:
            import tomllib  # a machine without a policy, the usual one, never needs it

            with Path(self._path).open("rb") as file:
                # Editors of one system begin a file with a mark, which says nothing.
                text = file.read(_MAX_POLICY_BYTES).decode("utf-8-sig")
            document = tomllib.loads(text)
            known = {"granted": False, "denied": True}
            # An empty file may be one that is being written.
            everything = known[document.pop("consent", "granted")] or not text.strip()
            purposes = document.pop("purposes", {})
            self._denied = frozenset(name for name, choice in purposes.items() if known[choice])
            self._denies_all = everything or bool(document)
        except (OSError, ImportError, ValueError, KeyError, TypeError, AttributeError):
            self._denies_all = True
