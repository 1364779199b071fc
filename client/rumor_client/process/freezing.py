"""The entry point of freezers: where the package's hook for PyInstaller lies."""

from __future__ import annotations

from pathlib import Path


def hook_dirs() -> list[str]:
    """Return the folders of hooks, as the entry point `hook-dirs` of `pyinstaller40` asks for."""
    return [str(Path(__file__).with_name("hooks"))]
