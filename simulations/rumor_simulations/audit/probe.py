"""What the pipeline's audit runs in a process of its own: a fork, a crash, scripted randomness.

    python -m rumor_simulations.audit.probe fork FOLDER MODULE:MAKER
    python -m rumor_simulations.audit.probe crash FOLDER MODULE:MAKER
    python -m rumor_simulations.audit.probe source FOLDER MODULE:MAKER

A fork must happen where no other thread runs, a crash must take no one along, and what else than
the operating system might decide a report differs from process to process.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

from rumor_simulations.audit.device import Maker
from rumor_simulations.audit.device_bench import FRESH, VALUES, Bench, payload_of_last
from rumor_simulations.audit.source import STREAMS, reports_from

INSTALLED = "rumor_client:Client"
# Reports that are made before the crash.
MADE = 3
_TIMEOUT = 60


def run_probe(what: str, folder: Path, maker: str) -> list[str]:
    """Run a probe in a new interpreter and return the words it printed.

    Raises RuntimeError, with what it wrote to standard error, where it printed none.
    """
    done = subprocess.run(  # noqa: S603 - this interpreter, with words of our own
        [sys.executable, "-m", "rumor_simulations.audit.probe", what, str(folder), maker],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(f"the probe {what!r} failed: {done.stderr.strip()}")
    return done.stdout.split()


def named_maker(name: str) -> Maker:
    """Return what `module:attribute` names."""
    maker: Maker = pkgutil.resolve_name(name)
    return maker


def _fork(folder: Path, maker: Maker) -> None:
    """Print the payloads of one value that parent and child make after a fork."""
    bench = Bench(folder, maker)
    with bench.client() as client:
        client.record(FRESH, VALUES[0])
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            client.record(FRESH, VALUES[0])
            os.write(writing, payload_of_last(client))
            os._exit(0)
        os.waitpid(child, 0)
        theirs = os.read(reading, 1 << 16)
        client.record(FRESH, VALUES[0])
        _say(theirs.hex(), payload_of_last(client).hex())


def _crash(folder: Path, maker: Maker) -> None:
    """Make reports, say so, and die without closing anything."""
    with Bench(folder, maker).client() as client:
        for value in VALUES[:MADE]:
            client.record(FRESH, value)
        _say(str(len(client.waiting())))
        os._exit(1)


def _source(folder: Path, maker: Maker) -> None:
    """Print what a device reports under each script of the operating system's randomness."""
    _say(*(reports_from(maker, seed).hex() for seed in STREAMS))


def _say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _what, _folder, _maker = sys.argv[1:]
    {"fork": _fork, "crash": _crash, "source": _source}[_what](Path(_folder), named_maker(_maker))
