"""Worker processes: what takes long leaves the process that takes in reports, within bounds."""

import os
import sys
import time
from threading import Thread

import numpy as np
import pytest

from rumor_server.errors import BadRequest, TooManyQueries
from rumor_server.queries.workers import OutOfMemory, Workers


@pytest.fixture
def workers() -> Workers:
    """One worker that may take a second, twice as much as its start on a busy machine."""
    return Workers(1, seconds=20)


def where(number: int) -> tuple[int, int]:
    """The process it runs in, and what it was given."""
    sys.stdout.write("said on standard output\n")
    return os.getpid(), number


def refuse(detail: str) -> None:
    """Raise an error of ours."""
    raise BadRequest(detail)


def fill(gigabytes: int) -> int:
    """Take memory."""
    return len(np.zeros(gigabytes << 30, dtype=np.uint8))


def nice() -> int:
    """How nice the process is."""
    return os.nice(0)


def test_answers_in_another_process(workers: Workers) -> None:
    """The same process answers again, nicer than its parent; what is printed there is no answer."""
    first, second = workers.run(where, 7), workers.run(where, number=8)
    assert first[1] == 7
    assert second == (first[0], 8)
    assert first[0] != os.getpid()
    assert workers.run(nice) > os.nice(0)
    workers.close()


def test_raises_what_is_raised_there(workers: Workers) -> None:
    """An error of ours comes back as it is, and the worker goes on."""
    with pytest.raises(BadRequest, match="split the list"):
        workers.run(refuse, "split the list")
    assert workers.run(where, 1)[1] == 1
    workers.close()


def test_kills_what_takes_too_long() -> None:
    """After its time an answer is given up; the next question gets a new process."""
    workers = Workers(1, seconds=8)
    before = workers.run(where, 1)[0]
    start = time.monotonic()
    with pytest.raises(TooManyQueries):
        workers.run(time.sleep, 60)
    assert time.monotonic() - start < 30
    assert workers.run(where, 2)[0] != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    workers.close()


def test_bounds_memory(workers: Workers) -> None:
    """An answer that takes more than a worker may have is refused in words, and no more."""
    with pytest.raises(OutOfMemory, match="split the list"):
        workers.run(fill, 5)
    assert workers.run(fill, 1) == 1 << 30
    workers.close()


def test_ends_with_its_collector(workers: Workers) -> None:
    """Closing cuts off what runs: who waits is told to come again."""
    workers.run(where, 1)
    heard = []

    def ask() -> None:
        try:
            workers.run(time.sleep, 60)
        except TooManyQueries as error:
            heard.append(error.retry_after)

    asking = Thread(target=ask)
    asking.start()
    time.sleep(0.5)
    workers.close()
    asking.join(10)
    assert heard == [10]
