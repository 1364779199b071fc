"""Forks at any moment: each child answers, none waits for a thread that stayed in the parent.

RUMOR_FORKS sets how many children the stress has; a thousand have been seen on each Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.harness import fork_stress
from tests.harness.devices import ROOT

from rumor_client.process.fork import FORK_LOCK
from rumor_client.state.sqlite_state import SqliteState

CHILDREN = os.environ.get("RUMOR_FORKS", "100")

SETUP = """
import ctypes, gc, os, sys, time
from pathlib import Path
from tests.harness.devices import device
from rumor_client.perturbation.randomness import system_randomness
state = Path(sys.argv[1])
"""


def run(script: str, folder: Path, seconds: float = 30) -> str:
    """Run a script in a process of its own, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SETUP + script, folder / "state"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_each_child_of_a_busy_process_answers(tmp_path: Path) -> None:
    """Under makers, droppers, concurrent forks and a signal handler that forks, each child has its
    answers within ten seconds, and an uploader that lives (D-01, N-04).
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", fork_stress.__file__, CHILDREN, tmp_path],
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)["ends"]
    fine = (fork_stress.FINE, fork_stress.REFUSED, fork_stress.CUT_OFF)
    assert set(ends) <= {str(code) for code in fine}, done.stdout
    # A disk that held a thread for three seconds is an answer too, but no usual one.
    assert ends.get(str(fork_stress.REFUSED), 0) <= int(CHILDREN) / 20
    assert "damaged" not in done.stderr
    assert sum(ends.values()) >= int(CHILDREN)


# What forks in the middle of a transaction of its own thread, as a signal handler does.
INTERRUPTIONS = {
    "at once": "interrupt()",
    "a finaliser": """
class Dropped:
    def __del__(self):
        interrupt()
Dropped()
""",
    "a trace function": """
def trace(*_):
    sys.settrace(None)
    interrupt()
sys.settrace(trace)
(lambda: None)()
""",
}


@pytest.mark.parametrize("interruption", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_a_fork_inside_record_waits_for_nobody(interruption: str, tmp_path: Path) -> None:
    """The child of a thread that is inside `record` hears at once that this file is unavailable to
    it, and uses any other; the parent goes on (N-04).
    """
    script = f"""
children, interrupted = [], []
def interrupt():
    child = os.fork()
    if not child:
        other = device(state=state.with_name("another"))
        seen = [one.record("theme", "dark").status.value for one in (client, other)]
        os._exit(7 if seen == ["unavailable", "recorded"] else 8)
    children.append(child)
def randomness():
    if not interrupted:
        interrupted.append(True)
        exec({interruption!r}, globals())
    return system_randomness()
client = device(state=state, randomness=randomness)
began = time.monotonic()
assert client.record("theme", "dark").recorded
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
assert time.monotonic() - began < 10
assert client.status().waiting == 1
"""
    run(script, tmp_path)


def test_what_a_fork_cut_in_two_fails_in_the_child(tmp_path: Path) -> None:
    """A handler that returns in the child goes on in the middle of a transaction of the parent:
    it comes to nothing there, and harms nothing of the parent's.
    """
    script = """
pid, interrupted = os.getpid(), []
def randomness():
    if not interrupted:
        interrupted.append(os.fork())
    return system_randomness()
client = device(state=state, randomness=randomness)
told = client.record("theme", "dark").status.value
if os.getpid() != pid:
    told = {told} | {client.record("theme", "light").status.value for _ in range(9)}
    client.close()
    sys.exit(7 if told == {"unavailable"} else 8)
assert told == "recorded"
assert os.waitstatus_to_exitcode(os.waitpid(interrupted[0], 0)[1]) == 7
status = client.status()
assert client.record("theme", "light").recorded
status = client.status()
assert (status.waiting, status.spent_today) == (2, 2_000_000), status
"""
    run(script, tmp_path)


def test_a_process_that_was_forked_behind_pythons_back_goes_on(tmp_path: Path) -> None:
    """Where no hook runs before the fork, as in an application server of C, the child starts anew
    all the same (D-09).
    """
    script = """
client = device(state=state, background=True, transport=lambda request: 1 / 0)
assert client.record("theme", "dark").recorded
import _imp
_imp.acquire_lock()
child = ctypes.PyDLL(None).fork()
if not child:
    ctypes.pythonapi.PyOS_AfterFork_Child()
    told = [client.record("theme", "light").status.value for _ in range(3)]
    os._exit(7 if "recorded" in told else 8)
_imp.release_lock()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert client.status().waiting >= 2
"""
    run(script, tmp_path)


def test_a_finaliser_never_waits() -> None:
    """While a fork is under way a client may be dropped: it is closed when next somebody passes."""
    closed: list[bool] = []
    FORK_LOCK.before()
    try:
        dropping = threading.Thread(target=FORK_LOCK.dispose, args=(lambda: closed.append(True),))
        began = time.monotonic()
        dropping.start()
        dropping.join(5)
        assert time.monotonic() - began < 1
        assert closed == []
    finally:
        FORK_LOCK.after_in_parent()
    FORK_LOCK.enter(1)
    FORK_LOCK.leave()
    assert closed == [True]


def test_who_comes_in_during_a_fork_waits_no_longer_than_it_said(tmp_path: Path) -> None:
    """A `record` that meets a fork which doesn't end is `busy` after its 250 ms."""
    state = SqliteState(tmp_path / "state")
    found: list[BaseException] = []

    def enter() -> None:
        try:
            with state.transaction(0.25):
                pass
        except Exception as error:
            found.append(error)

    FORK_LOCK.before()
    try:
        thread = threading.Thread(target=enter)
        began = time.monotonic()
        thread.start()
        thread.join(5)
        assert 0.2 < time.monotonic() - began < 2
    finally:
        FORK_LOCK.after_in_parent()
    assert [type(error).__name__ for error in found] == ["StateBusy"]
    state.close()
