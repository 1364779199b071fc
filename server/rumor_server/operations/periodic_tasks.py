"""What a process does every few seconds beside its requests: write counts, see who is in force."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from rumor_server.errors import StoreError
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.registry_in_force import RegistrySuperseded, in_force

log = logging.getLogger(__name__)


class PeriodicTasks:
    """Keeps the operator's tables up to date, and knows whether another registry is in force.

    `repeated` is done each time, `last` as the process ends; each raises StoreUnavailable where
    the database can't be used, and does what it couldn't when it is called again.
    """

    def __init__(
        self,
        control: Control,
        registry_sha256: str,
        *,
        repeated: Sequence[Callable[[], None]],
        last: Sequence[Callable[[], None]],
    ) -> None:
        self._control = control
        self._sha256 = registry_sha256
        self._repeated = repeated
        self._last = last
        self._is_superseded = False

    def check_in_force(self) -> None:
        """Raise RegistrySuperseded if another process put another registry in force."""
        if self._is_superseded:
            raise RegistrySuperseded

    def once(self) -> None:
        """Do it once. Raises StoreUnavailable."""
        was, self._is_superseded = self._is_superseded, in_force(self._control) != self._sha256
        if self._is_superseded and not was:
            log.error("%s", RegistrySuperseded())
        for task in self._repeated:
            task()

    async def run(self, seconds: float) -> None:
        """Do it every so often, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await asyncio.to_thread(self.once)
            except StoreError as error:
                log.warning("counts were not written: %s", error)

    def finish(self) -> None:
        """Write what is left to write, and release the database."""
        for task in self._last:
            try:
                task()
            except StoreError as error:
                log.warning("counts were not written: %s", error)
        self._control.close()
