"""What `rumor init` writes: a registry with comments, an app, a crowd to try them, settings.

And the samples of `deploy/` for operators.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path
from string import Template

# Long enough to try; short enough that somebody asks again whether the question is still needed.
_LASTS = timedelta(days=365)

REGISTRY = "metrics.toml"
APP = "app.py"
CROWD = "crowd.py"
SETTINGS = "rumor.toml"

_TEMPLATES = {
    REGISTRY: "metrics.txt",
    APP: "app.txt",
    CROWD: "crowd.txt",
    SETTINGS: "settings.txt",
}


class StarterExists(FileExistsError):
    """Files of these names are there already; nothing was written."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(f"{', '.join(names)}: there already; move it away, or name a new folder")


def starter_files(today: date, url: str, key: str | None = None) -> dict[str, str]:
    """Return the text of each file by its name.

    Metrics expire a year after `today`. `key` is the ingest key that the app sends; settings that
    ask for keys are written only with one.
    """
    words = {
        "expires": (today + _LASTS).isoformat(),
        "url": json.dumps(url),
        "key": "None" if key is None else json.dumps(key),
    }
    names = [name for name in _TEMPLATES if name != SETTINGS or key is not None]
    return {name: _template(name).substitute(words) for name in names}


def deploy_files() -> dict[str, str]:
    """Return the text of each sample for operators by its path below the folder of samples."""
    inside = Path(str(files(__name__).joinpath("deploy")))
    # The wheel carries the folder here; a clone has it at its root.
    folder = inside if inside.is_dir() else Path(__file__).parents[4] / "deploy"
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def check_absent(folder: Path, names: tuple[str, ...]) -> None:
    """Raise StarterExists if one of the names is taken in `folder`."""
    taken = tuple(name for name in names if (folder / name).exists())
    if taken:
        raise StarterExists(taken)


def write_starter(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text under its name. Raises StarterExists before anything is written."""
    check_absent(folder, tuple(texts))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        # "x": a file made in between is not overwritten either.
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)


def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(_TEMPLATES[name]).read_text("utf-8"))
