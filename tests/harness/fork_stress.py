"""A program that forks while everything else goes on: `fork_stress.py CHILDREN FOLDER`.

Threads make and drop clients, others record on a shared one, two fork at the same time, and a
signal handler forks in the middle of whatever the main thread does. Each child records on the
client that it inherited and on one that it makes, uploads from its own thread, and must be done in
ten seconds. It prints how the children ended, by exit code, and what they were told.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from rumor_client.client import Client
from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.state.sqlite_state import SqliteState
from rumor_client.upload.transport import Request, Response
from rumor_shared.registry import registry_of

# Exit codes of a child; a signal (SIGALRM: ten seconds have passed) is a negative one.
FINE, REFUSED, DEAD_UPLOADER, RAISED, CUT_OFF = 0, 10, 11, 12, 13

METRIC = {
    "revision": 1,
    "mechanism": "krr",
    "epsilon": 1,
    "values": ["light", "dark"],
    "daily_epsilon": 100_000,
    "owner": "test@example.org",
    "purpose": "to test",
    "expires": date(2999, 12, 31),
}
REGISTRY = registry_of({"registry": {"daily_epsilon": 100_000}, "metrics": {"theme": METRIC}})


def count_all(request: Request) -> Response:
    """Accept whatever is sent."""
    batch = json.loads(request.body)
    results = [{"id": report["id"], "verdict": "accepted"} for report in batch["reports"]]
    body = json.dumps({"results": results, "server_day": batch["day"]}).encode()
    return Response(200, {"content-type": "application/json"}, body)


def make(path: Path) -> Client:
    """Return a client of its own on a file, with a thread that uploads at once."""
    return Client(
        REGISTRY,
        "http://collector.invalid",
        state=SqliteState(path),
        upload_interval=0.01,
        jitter=random.random,
        transport=count_all,
        environ={},
        policy="",
    )


class Stress:
    """The threads, and what becomes of the children."""

    def __init__(self, children: int, folder: Path) -> None:
        self.wanted = children
        self.folder = folder
        self.ends = Counter[str]()
        self.slowest_fork = 0.0
        self.lock = threading.RLock()
        self.started = 0
        self.handling = False
        self.stopping = threading.Event()
        self.shared = make(folder / "shared")
        self.shared.consent.grant()

    def make_and_drop(self) -> None:
        """Make clients and let them go, some closed and some not."""
        while not self.stopping.is_set():
            client = make(self.folder / f"own{random.randrange(4)}")
            client.consent.grant()
            client.record("theme", "dark")
            if random.random() < 0.5:
                client.close()
            del client

    def record(self) -> None:
        """Record on the client that all share."""
        while not self.stopping.is_set():
            self.shared.record("theme", "dark")

    def fork_often(self) -> None:
        """Fork, and wait for the child."""
        while self._take():
            self._fork()

    def _take(self) -> bool:
        with self.lock:
            self.started += 1
            return self.started <= self.wanted

    def _fork(self) -> None:
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 10)
            code = RAISED
            try:
                code = self.answer()
            finally:
                os._exit(code)
        took = time.monotonic() - began
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with self.lock:
            self.slowest_fork = max(self.slowest_fork, took)
            self.ends[str(code)] += 1

    def answer(self) -> int:
        """Be a child: record on both clients, and upload."""
        told = {self.shared.record("theme", "dark").status.value for _ in range(3)}
        # Where a fork caught a thread at work in the shared file, that is unavailable to the child.
        cut_off = "unavailable" in told
        own = make(self.folder / "children")
        try:
            own.consent.grant()
        except StateUnavailable:
            return REFUSED
        except StateBusy:
            return FINE
        told_own = {own.record("theme", "dark").status.value for _ in range(3)}
        if "unavailable" in told_own:
            return REFUSED
        if not told_own <= {"recorded", "busy"}:
            return RAISED
        if cut_off:
            return CUT_OFF
        if not told <= {"recorded", "busy"}:
            return RAISED
        told |= told_own
        uploads = [t for t in threading.enumerate() if t.name == "rumor-upload"]
        if "recorded" in told and not any(thread.is_alive() for thread in uploads):
            return DEAD_UPLOADER
        # An uploader that waits for a thread of the parent would not answer.
        if self.shared.flush(timeout=2).status.value not in (
            "done",
            "later",
            "elsewhere",
            "timeout",
        ):
            return DEAD_UPLOADER
        return FINE

    def on_signal(self, *_: Any) -> None:
        """Fork where the main thread happens to be."""
        if not self.handling and self._take():
            # One at a time: a handler that forks within a handler that forks has no end.
            self.handling = True
            self._fork()
            self.handling = False

    def run(self) -> None:
        """Play until all children are done."""
        work = [self.make_and_drop, self.make_and_drop, self.record, self.record]
        threads = [threading.Thread(target=each, daemon=True) for each in work]
        forkers = [threading.Thread(target=self.fork_often, daemon=True) for _ in range(2)]
        signal.signal(signal.SIGALRM, self.on_signal)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
        for thread in threads + forkers:
            thread.start()
        while any(thread.is_alive() for thread in forkers):
            self.shared.record("theme", "dark")
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.stopping.set()
        for thread in threads:
            thread.join(20)
        sys.stdout.write(json.dumps({"ends": self.ends, "slowest_fork": self.slowest_fork}))


if __name__ == "__main__":
    Stress(int(sys.argv[1]), Path(sys.argv[2])).run()
    sys.stdout.flush()
    os._exit(0)
