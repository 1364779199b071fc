"""Processes that answer what takes long, so that the process which takes in reports never does.

A decode of 95,000 candidates holds the interpreter for seconds: beside it in one process a report's
p99 was 75 ms, beside it in another 3.5. Each worker is started when it is first needed, nicer than
its parent, with a bound of memory, and killed when an answer takes too long. It ends with its
parent, whose end closes its input.

Read `worker_main` beside this: what runs there.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from rumor_server.errors import BadRequest, TooManyQueries

_P = ParamSpec("_P")
_R = TypeVar("_R")

# The most candidates take a minute on a slow core; the reader waits as long.
ANSWER_SECONDS = 120.0
# How long a question waits for a free worker: half of a reader's patience.
_QUEUE_SECONDS = 60.0
# When one that found no free worker may ask again.
_RETRY_SECONDS = 10

LENGTH = struct.Struct("<Q")


class OutOfMemory(BadRequest):
    """The answer takes more memory than a worker may have."""

    def __init__(self) -> None:
        super().__init__("candidates: decoding so many takes too much memory; split the list")


class Worker:
    """One process, started by the first call. Used by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, seconds: float, job: bytes) -> Any:
        """Return what the job returns, or raise what it raises.

        Raises TooManyQueries where it took too long or its process died; the next call starts anew.
        """
        process = self._started()
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            assert process.stdin is not None  # noqa: S101 - both are pipes
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(LENGTH.pack(len(job)) + job)
            process.stdin.flush()
            (length,) = LENGTH.unpack(_exactly(process.stdout.read(LENGTH.size), LENGTH.size))
            done, result = pickle.loads(  # noqa: S301 - our own process
                _exactly(process.stdout.read(length), length)
            )
        except (OSError, EOFError):
            self.stop()
            raise TooManyQueries(_RETRY_SECONDS) from None
        finally:
            timer.cancel()
        if done:
            return result
        if isinstance(result, MemoryError):
            raise OutOfMemory
        raise result

    def kill(self) -> None:
        """Have a call that runs end at once."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Kill the process, if there is one, while no call runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            # One thread each: the workers are as many as there are cores to spare.
            alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rumor_server.queries.worker_main"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **alone},
            )
        return self._process


class Workers:
    """Workers as many as there are cores to spare, at least one. Safe for many threads."""

    def __init__(self, many: int | None = None, seconds: float = ANSWER_SECONDS) -> None:
        self._all = [Worker() for _ in range(many or max(1, _cores() - 1))]
        self._seconds = seconds
        self._closed = False
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for one in self._all:
            self._free.put(one)

    def run(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Return what a module's function returns, called in a worker.

        Raises what it raises, TooManyQueries where no worker is free in time or this takes too
        long, OutOfMemory where it takes more memory than a worker has.
        """
        job = pickle.dumps((function, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        try:
            worker = self._free.get(timeout=_QUEUE_SECONDS)
        except queue.Empty:
            raise TooManyQueries(_RETRY_SECONDS) from None
        try:
            if self._closed:
                raise TooManyQueries(_RETRY_SECONDS)
            result: _R = worker.call(self._seconds, job)
        finally:
            self._free.put(worker)
        return result

    def close(self) -> None:
        """Kill all processes; what they were asked is answered with TooManyQueries."""
        self._closed = True
        for one in self._all:
            one.kill()
        with suppress(queue.Empty):
            while True:
                self._free.get_nowait().stop()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _exactly(read: bytes, length: int) -> bytes:
    if len(read) != length:
        raise EOFError
    return read
