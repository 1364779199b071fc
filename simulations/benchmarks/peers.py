"""Other libraries, each at a pinned version in an environment of their own, asked by JSON lines.

They need other versions of numpy and xxhash than ours, and are kept out of the way of what is
tested. The environment is made once, in the user's cache, and again when a pin changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import benchmarks as bench

# pure-ldp imports scikit-learn and statsmodels without asking for them.
PINS = {
    "pure-ldp": "1.2.0",
    "multi-freq-ldpy": "0.2.5",
    "opendp": "0.16.0",
    "ldp-toolbox": "0.1.3",
    "numpy": "2.2.6",
    "xxhash": "3.8.2",
    "numba": "0.68.1",
    "joblib": "1.6.0",
    "scipy": "1.17.1",
    "scikit-learn": "1.7.2",
    "statsmodels": "0.15.0",
    "requests": "2.34.2",
}
# ldp-toolbox is a dashboard: it asks for dash, plotly and ray, 340 MB that its protocols don't use.
_ALONE = "ldp-toolbox"
UNAVAILABLE = "peer not available"
# A registry that hangs must not hang the bench; the wheels are some 200 MB, and took 7 minutes
# to install on a machine that was busy elsewhere.
_INSTALL_SECONDS = 1200
_READY = "installed"
# Where `peer_programs` is found: theirs is not our package.
FOLDER = Path(bench.__path__[0])


class PeerUnavailable(Exception):
    """The peers' environment could not be made. `reason` is what its installer said."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{UNAVAILABLE}: {reason}; give pip a registry and run the bench again")


def peers_python() -> Path:
    """Return the interpreter of the peers' environment, which is made where it is missing.

    Raises PeerUnavailable, for example without a package registry; this is tried once a run.
    """
    made = _made()
    if isinstance(made, PeerUnavailable):
        raise made
    return made


@cache
def _made() -> Path | PeerUnavailable:
    folder = _folder()
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / _READY).exists():
        return python
    try:
        venv.create(folder, clear=True, with_pip=True)
        _install(python, *(f"{name}=={PINS[name]}" for name in PINS if name != _ALONE))
        _install(python, "--no-deps", f"{_ALONE}=={PINS[_ALONE]}")
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        lines = [line for line in str(said).splitlines() if line.startswith("ERROR")]
        shutil.rmtree(folder, ignore_errors=True)
        return PeerUnavailable(lines[-1] if lines else type(error).__name__)
    (folder / _READY).touch()
    return python


def _install(python: Path, *words: str) -> None:
    subprocess.run(  # noqa: S603  # our own interpreter and pins
        [python, "-m", "pip", "install", "--quiet", "--prefer-binary", *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
    )


def command(program: str, setting: dict[str, Any]) -> list[str]:
    """Return the words that run a program of `peer_programs`, in FOLDER.

    Raises PeerUnavailable.
    """
    # Its libraries' warnings are theirs.
    words = ["-W", "ignore", "-m", f"peer_programs.{program}", json.dumps(setting)]
    return [str(peers_python()), *words]


class Peer:
    """A program of `peer_programs` that runs in the peers' environment while this is open.

    It answers one line of JSON with another. Raises RuntimeError where it ends instead.
    """

    def __init__(self, program: str, setting: dict[str, Any]) -> None:
        self._program = program
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            command(program, setting),
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            # What was asked of a program that has ended can't be flushed.
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        self._process.wait(10)

    def seconds(self, call: str, repeats: int = 1) -> float:
        """Return how long one of the program's calls takes, averaged over `repeats` in a row."""
        with suppress(BrokenPipeError):
            print(json.dumps([call, repeats]), file=self._process.stdin, flush=True)
        answered: IO[str] | None = self._process.stdout
        line = answered.readline() if answered else ""
        if not line:
            raise RuntimeError(f"peer_programs.{self._program} ended while asked for {call!r}")
        return float(json.loads(line))


@contextmanager
def opened(program: str, setting: dict[str, Any]) -> Iterator[Peer | None]:
    """Give the running program, or None where peers are not available."""
    with ExitStack() as stack:
        try:
            peer = stack.enter_context(Peer(program, setting))
        except PeerUnavailable:
            peer = None
        yield peer


def asked(peer: Peer | None, call: str, repeats: int = 1) -> list[partial[float]]:
    """Return what measures a call of a peer: nothing where there is none."""
    return [] if peer is None else [partial(peer.seconds, call, repeats)]


def _folder() -> Path:
    at = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    what = json.dumps([platform.python_version(), PINS])
    digest = hashlib.sha256(what.encode()).hexdigest()[:12]
    return Path(at) / "rumor" / f"bench-peers-{digest}"
