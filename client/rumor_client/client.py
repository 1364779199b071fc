"""The class `Client` that an app embeds: it records answers, and uploads reports with consent."""

from __future__ import annotations

from time import monotonic, sleep

from rumor_client.perturbation.randomness import system_randomness
from rumor_client.process.clock import utc_now
from rumor_client.process.lazy_imports import importing, importing_later

# Type checkers take this name as true; what a client is made of is loaded by who makes one.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from decimal import Decimal
    from types import TracebackType

    from rumor_client.inspection.status import Status
    from rumor_client.inspection.view import Seen
    from rumor_client.perturbation.randomness import Randomness
    from rumor_client.process.clock import Clock
    from rumor_client.recording.outbox import Bounds
    from rumor_client.recording.result import Result
    from rumor_client.state.protocol import State
    from rumor_client.state.report import Sent, Waiting
    from rumor_client.upload.backoff import Jitter
    from rumor_client.upload.result import FlushResult
    from rumor_client.upload.retraction import Forgotten
    from rumor_client.upload.transport import Transport
    from rumor_client.upload.uploader import Uploader
    from rumor_client.upload.worker import Worker
    from rumor_shared.registry import Registry

# How long a denial waits for the request under way, and an app for its last upload.
_LAST_REQUEST = 2.0
DEFAULT_INTERVAL = 300.0
# How long a person who says `forget` waits for the collector's receipts.
FORGET_TIMEOUT = 30.0


class Client:
    """Records perturbed answers and uploads them. Safe between threads, processes and forks.

    `registry` is a Registry, its file's path or its bytes. Without an `endpoint` reports wait on
    the device. `state` is a State or the path of its file; without it, a file in the user's data
    folder, named by `app`. `key` is the collector's ingest key. `daily_cap` and `lifetime_cap` are
    the app's own hard caps on epsilon over all metrics, exact decimals that no registry can raise.

    With `background`, a daemon thread uploads about once in `upload_interval` seconds, and for at
    most two seconds at exit; else only `flush` does. `environ` and `policy` (a path) are where a
    denial may come from beside the owner's word. `clock`, `transport`, `randomness` and `jitter`
    are seams for tests: `transport` is a plain function from Request to Response, and `jitter`
    gives the uniform number in [0, 1) by which each random wait is scaled.

    `registry` and `state` are attributes too: another client may be made on the same state.

    Making a client reads the registry and nothing else. Raises RegistryError, ConfigurationError,
    and OSError for a registry file that can't be read.
    """

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str] | bytes,
        endpoint: str | None = None,
        *,
        state: State | str | os.PathLike[str] | None = None,
        app: str | None = None,
        key: str | None = None,
        daily_cap: Decimal | str | int | float | None = None,
        lifetime_cap: Decimal | str | int | float | None = None,
        bounds: Bounds | None = None,
        background: bool = True,
        upload_interval: float = DEFAULT_INTERVAL,
        environ: Mapping[str, str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        clock: Clock = utc_now,
        transport: Transport | None = None,
        randomness: Callable[[], Randomness] = system_randomness,
        jitter: Jitter | None = None,
    ) -> None:
        # Exact arithmetic and the state file take ten times as long to load as this class.
        with importing:
            from rumor_client.arguments import (
                check_interval,
                check_key,
                registry_from,
                send,
                state_from,
                warn_of_open_key,
            )
            from rumor_client.consent.consent import Consent
            from rumor_client.perturbation.mechanisms.table import load_perturber
            from rumor_client.recording.ledger import AppCaps, app_cap
            from rumor_client.recording.outbox import Bounds
            from rumor_client.recording.recorder import Recorder
            from rumor_client.upload import result, retraction  # noqa: F401 - their absence is no status

            # A registry loads the mechanisms that it names, and what perturbs by them is loaded
            # here too: a package that lacks it must not be found out by an app's first report.
            self.registry = registry_from(registry)
            for metric in self.registry.metrics.values():
                load_perturber(metric.mechanism)
        self._caps = AppCaps(app_cap("daily_cap", daily_cap), app_cap("lifetime_cap", lifetime_cap))
        self.state = state_from(state, app, endpoint)
        self._clock = clock
        self._randomness = randomness
        self.consent = Consent(
            (metric.purpose for metric in self.registry.metrics.values()),
            self.state,
            clock,
            environ=environ,
            policy=policy,
            before_denial=self._await_request,
        )
        self._recorder = Recorder(
            self.registry,
            self._caps,
            bounds or Bounds(),
            state=self.state,
            consent=self.consent,
            clock=clock,
            randomness=randomness,
        )
        self._uploader: Uploader | None = None
        self._worker: Worker | None = None
        if endpoint is not None:
            with importing:
                from rumor_client.upload.transport import check_endpoint

            base = check_endpoint(endpoint)
            if check_key(key) is not None:
                warn_of_open_key(base)
            self._uploader = self._make_uploader(base, key, transport or send, jitter)
            if background:
                with importing:
                    from rumor_client.upload.worker import (
                        Worker,  # threads only where they are wanted
                    )

                interval = check_interval(upload_interval)
                self._worker = Worker(self._uploader, interval, jitter)

    def _make_uploader(
        self,
        endpoint: str,
        key: str | None,
        transport: Transport,
        jitter: Jitter | None,
    ) -> Uploader:
        with importing:  # a client without an endpoint has no use for them
            from rumor_client.upload.collector_api import CollectorApi
            from rumor_client.upload.uploader import Uploader

        # Bound to the consent and not to the client, which a thread must not keep alive.
        return Uploader(
            CollectorApi(endpoint, key, transport, self._clock, jitter),
            state=self.state,
            max_age_days=self.registry.max_age_days,
            granted=self.consent.is_granted,
            clock=self._clock,
            randomness=self._randomness,
        )

    def record(self, metric: str, value: object) -> Result:
        """Perturb `value` and store the report, if there is consent and budget for it.

        Never touches the network and never waits more than 250 ms for a lock. What can't be done
        is a status of the result; only a mistake in the app raises: UnknownMetric, and InvalidValue
        for what the metric can't take, before anything is drawn or spent; a clock that is naive
        raises ValueError. Whether a report is made never depends on which value is given.
        """
        result = self._recorder.record(metric, value)
        if result.recorded and self._worker is not None:
            self._worker.wake()
        return result

    def flush(self, timeout: float | None = None) -> FlushResult:
        """Upload what waits, now and from this thread, and say how it went.

        Without a timeout each report is tried once. With one (in seconds) a failed try is repeated
        after a back-off for as long as time is left. Days follow each other without a pause. The
        collector's `Retry-After` is kept in any case.
        Nothing that the network, the collector or the state does is raised.
        """
        from rumor_client.upload.result import FlushResult, UploadStatus

        if self._uploader is None:
            return FlushResult(UploadStatus.OFF, detail="there is no endpoint")
        from rumor_client.upload.collector_api import REQUEST_TIMEOUT
        from rumor_client.upload.uploader import drain

        if timeout is None:
            return drain(self._uploader, None, monotonic() + REQUEST_TIMEOUT)
        deadline = monotonic() + timeout
        result = drain(self._uploader, deadline, deadline)
        while result.retry_in is not None and monotonic() + result.retry_in < deadline:
            sleep(result.retry_in)
            result = result.then(drain(self._uploader, deadline, deadline))
        return result

    async def aflush(self, timeout: float | None = None) -> FlushResult:
        """Upload what waits without blocking the event loop; see `flush`.

        On a thread of its own: the loop's default threads may all be busy with the app's work.
        """
        import asyncio  # only an app that runs it already calls this
        from contextlib import suppress
        from threading import Thread

        from rumor_client.upload.result import FlushResult, UploadStatus

        loop = asyncio.get_running_loop()
        done: asyncio.Future[FlushResult] = loop.create_future()

        def tell(result: FlushResult) -> None:
            if not done.done():
                done.set_result(result)

        def run() -> None:
            result = self.flush(timeout)
            with suppress(RuntimeError):  # nobody waits: the loop is closed
                loop.call_soon_threadsafe(tell, result)

        try:
            Thread(target=run, name="rumor-flush", daemon=True).start()
        except RuntimeError:
            return FlushResult(UploadStatus.LATER, detail="no thread can be started")
        return await done

    def status(self) -> Status:
        """Return what holds, what is spent and what waits. Raises StateBusy, StateUnavailable."""
        with importing_later:
            from rumor_client.inspection.status import status_of  # only who looks needs it

        stopped = self._uploader.stopped if self._uploader else None
        return status_of(
            self.registry,
            self._caps,
            self.state,
            self.consent,
            self._clock(),
            stopped,
            self._recorder.busy(),
            self._recorder.became_other,
        )

    def waiting(self) -> list[Waiting]:
        """Return every report that waits, oldest first. Raises StateBusy, StateUnavailable."""
        with self.state.transaction() as transaction:
            return transaction.waiting(None, 0, transaction.size().reports)

    def sent(self) -> list[Sent]:
        """Return the reports that were answered for good and are young enough to be retracted.

        Raises StateBusy and StateUnavailable.
        """
        with self.state.transaction() as transaction:
            return transaction.sent()

    def view(self) -> list[Seen]:
        """Return every report that waits or was sent, as bytes and as what they say.

        Raises StateBusy and StateUnavailable.
        """
        with importing_later:
            from rumor_client.inspection.view import seen  # only who looks needs it

        with self.state.transaction() as transaction:
            waiting = transaction.waiting(None, 0, transaction.size().reports)
            return seen(self.registry, waiting, transaction.sent())

    def forget(self, timeout: float = FORGET_TIMEOUT, *, give_up: bool = False) -> Forgotten:
        """Deny every purpose, take back what was sent, and delete all but the ledger's totals.

        Waits for the collector's receipts for up to `timeout` seconds, trying again as `flush`
        does. What it gave no answer for can be asked for again by another call, and is kept on the
        device until then; with `give_up` it is deleted too. A policy or an environment that denies
        does not keep this from being sent. Raises StateBusy and StateUnavailable, after which
        nothing is sent either.
        """
        from rumor_client.upload.retraction import forget

        collector = self._uploader.collector if self._uploader else None
        deadline = monotonic() + timeout
        return forget(
            self.state, collector, self.consent.deny, self._randomness, deadline, give_up=give_up
        )

    def close(self) -> None:
        """Upload what waits for at most two seconds if there is a background thread, and stop.

        What could not be sent stays for the next run. May be called again.
        """
        self._recorder.close()
        if self._worker is not None:
            deadline = monotonic() + _LAST_REQUEST
            self._worker.close(deadline)
            self._worker.join(deadline)
        self.state.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _await_request(self) -> None:
        if self._uploader is not None:
            self._uploader.await_request(_LAST_REQUEST)
