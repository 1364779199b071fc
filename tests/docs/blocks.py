"""Run the fenced code blocks of a page, in their order, as its reader would.

Each page gets an empty folder and a port of its own; `localhost:8000` stands for that port.

    bash     line by line. `rumor serve` stays in the background until the page is over or another
             one starts. A line of `pip install` is checked to name this package and an extra it
             has, and one of `make` to name a target: neither is run.
    python   as a program of its own, in the folder.
    toml     must parse, and be a sound registry where it has metrics. After `<!-- file: NAME -->`
             it is written under that name.
    r        by Rscript, where there is one.
    text     is not run.

Any other language fails: a block that nobody runs is a block that nobody checks.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.error import URLError
from urllib.request import urlopen

from rumor_shared.registry import parse_registry

HOUSE = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SECONDS = 120
_FENCE = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PIP = re.compile(r"pip install '?rumor(?:\[([a-z,]+)\])?'?")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where its text begins in the page."""

    language: str
    text: str
    file: str | None
    line: int


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks. Directives of the documentation's generator are none."""
    source = page.read_text("utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            found["file"],
            source.count("\n", 0, found.start("text")) + 1,
        )
        for found in _FENCE.finditer(source)
    ]


def commands(block: Block) -> Iterator[str]:
    """Yield the lines of a bash block that do something, without their comments."""
    for line in block.text.splitlines():
        command = line.partition(" # ")[0].strip()
        if command and not command.startswith("#"):
            assert not command.endswith("\\"), f"line {block.line}: write one line a command"
            yield command


class Reader:
    """Follows a page in `folder`. Use it as a context: it ends the collector that it started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self._server: subprocess.Popen[bytes] | None = None
        self.commands = 0

    def __enter__(self) -> "Reader":
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the collector."""
        self._stop()

    def follow(self, page: Path) -> None:
        """Run every block of a page. Fails at the first that fails, with what it printed."""
        for block in blocks(page):
            try:
                self._run(block)
            except AssertionError as error:
                raise AssertionError(f"{page.name}:{block.line}: {error}") from None

    def _run(self, block: Block) -> None:
        match block.language:
            case "bash":
                for command in commands(block):
                    self._command(command)
            case "python":
                self._program([sys.executable, "-W", "error", "-"], self._here(block.text))
            case "r":
                if shutil.which("Rscript"):
                    self._program(["Rscript", "-"], self._here(block.text))
            case "toml":
                self._toml(block)
            case "text":
                pass
            case other:
                raise AssertionError(f"nobody runs blocks of {other or 'no language'}")

    def _command(self, command: str) -> None:
        self.commands += 1
        if command.startswith("pip "):
            _check_install(command)
        elif command.startswith("make "):
            self._program(["make", "-n", *command.split()[1:]], folder=HOUSE)
        elif command.startswith("rumor serve"):
            self._serve(command.split()[1:])
        else:
            self._program(["bash", "-eu", "-o", "pipefail", "-c", self._here(command)])

    def _toml(self, block: Block) -> None:
        document = tomllib.loads(block.text)
        if "metrics" in document:
            parse_registry(block.text.encode())
        if block.file is not None:
            (self._folder / block.file).write_text(block.text, "utf-8")

    def _program(self, words: list[str], text: str = "", folder: Path | None = None) -> None:
        done = subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            cwd=folder or self._folder,
            env=self._environment(),
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr

    def _serve(self, words: list[str]) -> None:
        self._stop()
        log = self._folder / "collector.log"
        with log.open("ab") as out:
            self._server = subprocess.Popen(
                [BIN / "rumor", *words],
                cwd=self._folder,
                env=self._environment(),
                stdout=out,
                stderr=out,
            )
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            assert self._server.poll() is None, log.read_text("utf-8", "replace")
            try:
                with urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.05)
        raise AssertionError(f"not ready in time: {log.read_text('utf-8', 'replace')}")

    def _stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            assert self._server.wait(SECONDS) == 0
            self._server = None

    def _here(self, text: str) -> str:
        return text.replace("localhost:8000", f"127.0.0.1:{self._port}")

    def _environment(self) -> Mapping[str, str]:
        mine = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            # A reader's own files and choices are neither used nor changed.
            "HOME": str(self._folder),
            "XDG_DATA_HOME": str(self._folder / "data"),
            "RUMOR_HOST": "127.0.0.1",
            "RUMOR_PORT": str(self._port),
            "RUMOR_URL": f"http://127.0.0.1:{self._port}",
        }
        without = {"DO_NOT_TRACK", "NO_COLOR"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in without and not name.startswith("RUMOR_")
        }
        return {**kept, **mine}


def _check_install(command: str) -> None:
    found = _PIP.fullmatch(command)
    assert found, f"{command}: not this package"
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(filter(None, (found[1] or "").split(",")))
    assert extras <= set(project["optional-dependencies"]), f"{command}: no such extra"
