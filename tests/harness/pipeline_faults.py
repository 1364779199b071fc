"""Clients with a fault in what surrounds the noise: memory, budget, retries, consent."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from rumor_client import Client, FlushResult, MemoryState, RecordStatus, Result
from rumor_client.perturbation.randomness import Randomness, system_randomness
from rumor_simulations.audit.device_bench import FRESH, VALUES

# What a forked child inherits.
_inherited = random.Random()


class Forgetful(Client):
    """It keeps secret, ledger and outbox in memory, and loses them with the process."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "state": MemoryState()})


class _NoiseOf(Randomness):
    """Randomness of the system, but for the noise of vectors: that comes from `source`."""

    __slots__ = ("_source",)

    def __init__(self, source: random.Random) -> None:
        super().__init__(system_randomness()._read)
        self._source = Randomness(source.randbytes)

    def bits(self, count: int, set_mask: int, if_set: int, if_clear: int) -> int:
        """Draw a vector, from `source` if it has a set bit."""
        if set_mask:
            return self._source.bits(count, set_mask, if_set, if_clear)
        return super().bits(count, set_mask, if_set, if_clear)


class SameNoise(Client):
    """Every report carries the same noise."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["randomness"] = lambda: _NoiseOf(random.Random(1))
        super().__init__(*arguments, **options)


class InheritedNoise(Client):
    """Noise comes from a generator that a fork copies."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["randomness"] = lambda: _NoiseOf(_inherited)
        super().__init__(*arguments, **options)


class OwnGenerator(Client):
    """It has a generator that is seeded with the clock, unless a test hands one over."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault(
            "randomness", lambda: Randomness(random.Random(time.time_ns()).randbytes)
        )
        super().__init__(*arguments, **options)


class Undebited(Client):
    """It gives back what a report cost."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = options["state"]

    def record(self, metric: str, value: object) -> Result:
        """Record, then take the debit back."""
        result = super().record(metric, value)
        self.state.close()
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            connection.execute("UPDATE ledger SET spent = 0")
        return result


class Redrawing(Client):
    """It perturbs anew for each try of an upload."""

    def flush(self, timeout: float | None = None) -> FlushResult:
        """Exchange the payloads of what waits, then upload."""
        with self.state.transaction() as transaction:
            waiting = [w.report for w in transaction.waiting(None, 0, 100)]
            transaction.withdraw([report.id for report in waiting], "redrawn")
            for report in waiting:
                other = bytes(octet ^ 1 for octet in report.payload)
                transaction.put(replace(report, id=os.urandom(16), payload=other))
        return super().flush(timeout)


class OnlyNews(Client):
    """It makes no report of a value that was the last one too."""

    _last: object = None

    def record(self, metric: str, value: object) -> Result:
        """Record what is new."""
        if value == self._last:
            return Result(RecordStatus.RECORDED, metric)
        self._last = value
        return super().record(metric, value)


class Obliging(Client):
    """It maps what is outside the domain to the last value."""

    def record(self, metric: str, value: object) -> Result:
        """Record any value."""
        known = metric != FRESH or value in VALUES
        return super().record(metric, value if known else VALUES[-1])


class Presuming(Client):
    """It takes silence for consent."""

    def record(self, metric: str, value: object) -> Result:
        """Grant, and record."""
        self.consent.grant()
        return super().record(metric, value)
