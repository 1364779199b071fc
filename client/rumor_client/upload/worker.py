"""The background upload thread: started by the first record, gone with the process.

It waits a random part of the interval, so that devices that started together don't report together,
and again between the batches of two days, so that a listener can't tell that they come from one
device. At exit all clients share one deadline.
"""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Callable
from time import monotonic

from rumor_client.process.fork import FORK_LOCK
from rumor_client.process.log_once import log_once
from rumor_client.upload.backoff import LONGEST, Jitter, uniform
from rumor_client.upload.result import FlushResult, UploadStatus
from rumor_client.upload.uploader import Uploader, drain

# Design, section 6: how long an exiting app waits for its uploads, all of them together.
EXIT_DEADLINE = 2.0
# Between two passes, at least, in seconds.
_SHORTEST = 1.0
# Between the batches of two days, at most, in seconds.
_LONGEST_PAUSE = 30.0


class Worker:
    """Uploads in the background, on average once in `interval` seconds while something waits."""

    def __init__(self, uploader: Uploader, interval: float, jitter: Jitter | None = None) -> None:
        self._uploader = uploader
        self._interval = interval
        self._jitter = jitter or uniform
        # Whatever the interval, no collector is asked in every breath; a test sets what is random.
        self._shortest = _SHORTEST if jitter is None else 0.0
        self._reset()
        FORK_LOCK.watch(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._news = False
        self._deadline: float | None = None

    def wake(self) -> None:
        """Say that something waits. Starts the thread if there is none."""
        with self._changed:
            self._news = True
            if self._thread is not None or self._deadline is not None:
                self._changed.notify()
                return
            if _uwsgi_forks_later():
                return
            thread = threading.Thread(target=self._run, name="rumor-upload", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # The interpreter is exiting, or there are no threads: `close` sends it, or who
                # starts next.
                log_once(
                    "no thread",
                    "rumor: no thread can be started here; reports are sent when the client is"
                    " closed, or by flush()",
                )
            else:
                self._thread = thread
        _started(self)

    def close(self, deadline: float) -> None:
        """Ask the thread to send what waits and end by `deadline`, on the monotonic clock.

        Without a thread, though there are reports, this is done here.
        """
        with self._changed:
            closed_before = self._deadline is not None
            self._deadline = deadline
            self._changed.notify()
            alone = self._thread is None and self._news and not closed_before
        if alone:
            self._finish(deadline)

    def join(self, deadline: float) -> None:
        """Wait for the end of the thread, until `deadline`."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, deadline - monotonic()))

    def before_fork(self) -> None:
        """Do nothing: a fork must not wait for the network."""

    def after_fork(self, *, clean: bool) -> None:
        """Start anew in a child: the thread stayed in the parent."""
        self._reset()

    def _run(self) -> None:
        delay = self._wait()
        while self._sleep(delay):
            delay = self._upload()
        if self._deadline is not None:
            self._finish(self._deadline)

    def _finish(self, deadline: float) -> None:
        if self._uploader.stopped is None and not self._uploader.rest():
            self._guarded(lambda: drain(self._uploader, deadline, deadline))

    def _upload(self) -> float:
        """Make a pass and return the wait after it."""
        rest = self._uploader.rest()
        if rest:
            return rest
        result = self._guarded(lambda: self._uploader.run(pause=self._pause))
        return LONGEST if result is None else self._next_delay(result)

    def _guarded(self, upload: Callable[[], FlushResult]) -> FlushResult | None:
        try:
            return upload()
        except Exception as error:  # the app's own clock or state may raise anything
            log_once("upload", f"rumor: an upload failed with {type(error).__name__}")
            return None

    def _sleep(self, seconds: float) -> bool:
        """Wait; False at once when the worker is to end."""
        with self._changed:
            return not self._changed.wait_for(lambda: self._deadline is not None, seconds)

    def _pause(self) -> bool:
        return self._sleep(self._jitter() * min(self._interval, _LONGEST_PAUSE))

    def _next_delay(self, result: FlushResult) -> float:
        if result.retry_in is not None:
            return result.retry_in
        if result.status is UploadStatus.STOPPED:
            return LONGEST
        if result.waiting == 0:
            self._idle()
        return self._wait()

    def _wait(self) -> float:
        return max(self._shortest, self._jitter() * self._interval)

    def _idle(self) -> None:
        """Wait for news, or an hour: another process may have left something in the file."""
        with self._changed:
            self._changed.wait_for(lambda: self._news or self._deadline is not None, LONGEST)
            self._news = False


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def _started(worker: Worker) -> None:
    if not _workers:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _workers.add(worker)


def _close_all() -> None:
    deadline = monotonic() + EXIT_DEADLINE
    workers = list(_workers)
    for worker in workers:
        worker.close(deadline)
    for worker in workers:
        worker.join(deadline)


def _uwsgi_forks_later() -> bool:
    """Return whether uWSGI imports the app now and forks its workers from it afterwards.

    It forks from C. A thread that waits for the interpreter's lock at that moment leaves its
    request behind, and the worker, alone, would hand the lock over and wait for ever.
    """
    uwsgi = sys.modules.get("uwsgi")
    return uwsgi is not None and not uwsgi.worker_id()
