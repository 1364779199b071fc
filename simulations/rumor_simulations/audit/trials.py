"""Run many fresh devices on one value, on all cores, with randomness of the operating system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.metric import Metric
from rumor_simulations.audit.device import FreshDevices
from rumor_simulations.population import Counts, Octets

# One system call for many trials; a buffer is never shared by two processes.
_POOL = 1 << 16
# Reports and bytes of payloads that are held at a time.
BLOCK = 1 << 16
_BLOCK_BYTES = 1 << 26


class WrongLength(RuntimeError):
    """A payload has `length` bytes where the mechanism declares `declared`."""

    def __init__(self, length: int, declared: int) -> None:
        self.length = length
        self.declared = declared
        super().__init__(
            f"a payload has {length} bytes where the mechanism declares {declared}: "
            "a length that varies can tell a value"
        )


class _Pool:
    """Bytes of the operating system's CSPRNG, many trials at a time."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def __call__(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._bytes):
            self._bytes = self._bytes[self._at :] + os.urandom(max(_POOL, size))
            self._at, end = 0, size
        drawn = self._bytes[self._at : end]
        self._at = end
        return drawn


def pooled_randomness() -> Randomness:
    """Return randomness of the operating system for many reports, for this process alone."""
    return Randomness(_Pool())


@dataclass(frozen=True)
class Trials:
    """`count` first reports of fresh devices that hold `text`, or their permanent answers."""

    metric: Metric
    text: str
    count: int
    permanent: bool = False

    def run(self) -> Iterator[tuple[Octets, Counts]]:
        """Yield payloads uint8 (reports, bytes) and cohorts int64 (reports,), in blocks.

        Raises WrongLength at the first payload that has not its declared length.
        """
        live, devices = pooled_randomness(), FreshDevices()
        ask = devices.permanent_answer if self.permanent else devices.first_answer
        length = self.metric.mechanism.payload_bytes
        block = max(1, min(BLOCK, _BLOCK_BYTES // length))
        for start in range(0, self.count, block):
            cohorts = []
            payloads = []
            for _ in range(min(block, self.count - start)):
                cohort, payload = ask(self.metric, self.text, live)
                if len(payload) != length:
                    raise WrongLength(len(payload), length)
                cohorts.append(cohort)
                payloads.append(payload)
            octets = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, length)
            yield octets, np.array(cohorts, dtype=np.int64)
