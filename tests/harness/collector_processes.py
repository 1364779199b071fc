"""Several collectors as processes on one database, and devices that load them all."""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.harness.collector import LASTING, batch, compact, report
from tests.harness.collector_process import DAY, Answer, Serving

# What a device does about an answer: it keeps what it sent and sends the same bytes again.
AGAIN = {429, 500, 502, 503, 504}
COUNTED = ["accepted", "duplicate"]
# A try that fails is made again at once elsewhere, and this long in all: a start takes seconds.
PATIENCE_SECONDS = 120


def today() -> date:
    """The day of the collectors."""
    return DAY


def sent(
    *reports: dict[str, Any], pseudonym: bytes | None = None, day: date | None = None
) -> bytes:
    """The bytes of a batch, of today unless another day is given."""
    return compact(batch(*reports, day=day or today(), pseudonym=pseudonym))


class Fleet(list[Serving]):
    """Collectors on one database, and a device's way with them."""

    def anywhere(self, body: bytes) -> list[str]:
        """Send a batch to any of them, the same bytes until it is answered.

        Returns for each report its reason, or its verdict if there is none.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = random.choice(self).request("POST", "/v1/reports", body)
            except (OSError, HTTPException):
                answer = None
            if answer is not None and answer.status not in AGAIN:
                assert answer.status == 200, answer.body
                return [one["reason"] or one["verdict"] for one in answer.json["results"]]
            assert time.monotonic() < until, "no collector answers"
            time.sleep(0.02)

    def n(self) -> int:
        """How many reports of the theme are counted: each collector says the same."""
        path = "/v1/metrics/theme/estimates"
        (counted,) = {read(one, path).json["n"] for one in self}
        return int(counted)

    def figures(self) -> dict[str, float]:
        """What each collector's `/metrics` says of the database: the same."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            pages = [read(one, "/metrics").body.decode().splitlines() for one in self]
            found = [
                [line for line in page if line.startswith("rumor_database_")] for page in pages
            ]
            if all(one == found[0] for one in found):
                break
            # Between two scrapes something was counted or closed.
            assert time.monotonic() < until
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in found[0])}

    def log(self) -> str:
        """What all of them logged."""
        return "".join(one.log.read_text("utf-8") for one in self)


def read(serving: Serving, path: str) -> Answer:
    """Read a page; one that can't be read just now is asked for again."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (answer := serving.request("GET", path)).status in AGAIN:
        assert time.monotonic() < until, answer.body
        time.sleep(0.05)
    assert answer.status == 200, answer.body
    return answer


@contextmanager
def fleet(folder: Path, number: int, url: str = "", **settings: object) -> Iterator[Fleet]:
    """Run so many collectors on a PostgreSQL database, or on one SQLite file."""
    started = Fleet()
    for one in range(number):
        own = folder / f"collector{one}"
        own.mkdir()
        given = {"receipts": folder / "receipts", "log_level": "debug", **settings}
        file = folder / "rumor.sqlite3"
        started.append(Serving(own, LASTING, database=file, url=url, settings=given))
    try:
        with ThreadPoolExecutor(number) as threads:
            list(threads.map(Serving.start, started))
        yield started
    finally:
        for serving in started:
            serving.kill()


class Load:
    """Devices that send without a pause until they are told to end; what was counted of theirs."""

    def __init__(self, collectors: Fleet, devices: int) -> None:
        self._collectors = collectors
        self._devices = devices
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._faults: list[Exception] = []
        self.counted = 0
        self.verdicts: Counter[str] = Counter()

    def wait_for(self, more: int) -> None:
        """Wait until so many more reports were acknowledged. Raises what a device met."""
        with self._changed:
            goal = self.counted + more
            self._changed.wait_for(lambda: self._faults or self.counted >= goal, PATIENCE_SECONDS)
            if self._faults:
                raise self._faults[0]
            assert self.counted >= goal, "the collectors are too slow"

    def _heard(self, verdicts: list[str]) -> None:
        with self._changed:
            self.counted += sum(one in COUNTED for one in verdicts)
            self.verdicts.update(verdicts)
            self._changed.notify_all()

    def _device(self) -> None:
        while not self._ended.is_set():
            body = sent(*[report() for _ in range(3)])
            verdicts = self._collectors.anywhere(body)
            self._heard(verdicts)
            # Whoever has it counted says so, whichever took it.
            assert self._collectors.anywhere(body) == ["duplicate"] * 3

    def _many_devices(self, threads: ThreadPoolExecutor) -> None:
        """CO-01, SV-06: a budget of ten that 25 ask for at once, and one report sent 20 times."""
        while not self._ended.is_set():
            pseudonym = os.urandom(16)
            bodies = [sent(report(), pseudonym=pseudonym) for _ in range(25)]
            verdicts = [one for (one,) in threads.map(self._collectors.anywhere, bodies)]
            assert sum(one in COUNTED for one in verdicts) == 10, verdicts
            assert verdicts.count("budget_exceeded") == 15, verdicts
            self._heard(verdicts)
            same = list(threads.map(self._collectors.anywhere, [sent(report())] * 20))
            assert all(one in COUNTED for (one,) in same)
            assert same.count(["accepted"]) <= 1
            self._heard(["duplicate"])

    def _watched(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            with self._changed:
                self._faults.append(error)
                self._changed.notify_all()

    def run(self, meanwhile: Callable[[], None]) -> None:
        """Run the devices while `meanwhile` does what it does. Raises what a device met."""
        with ThreadPoolExecutor(25) as many, ThreadPoolExecutor(self._devices + 1) as threads:
            works = [self._device] * self._devices + [partial(self._many_devices, many)]
            running = [threads.submit(self._watched, work) for work in works]
            try:
                meanwhile()
            finally:
                self._ended.set()
            for work in running:
                work.result(PATIENCE_SECONDS)
        if self._faults:
            raise self._faults[0]
