"""What a process does every few seconds beside its requests: write counts, see who is in force."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import date

from rumor_server.errors import StoreError
from rumor_server.http.authentication import Keyring
from rumor_server.http.quota import KeyLimits
from rumor_server.statistics.authenticity.report_weights import ReportShapes
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.registry_in_force import Overtaken, in_force

log = logging.getLogger(__name__)


class Housekeeping:
    """Keeps the operator's tables up to date, and knows whether this process was overtaken."""

    def __init__(
        self,
        control: Control,
        keyring: Keyring,
        limits: KeyLimits,
        shapes: ReportShapes,
        registry_sha256: str,
        today: Callable[[], date],
    ) -> None:
        self._control = control
        self._keyring = keyring
        self._limits = limits
        self._shapes = shapes
        self._sha256 = registry_sha256
        self._today = today
        self._is_overtaken = False

    def check_in_force(self) -> None:
        """Raise Overtaken if another process put another registry in force."""
        if self._is_overtaken:
            raise Overtaken

    def once(self) -> None:
        """Do it once. Raises StoreUnavailable."""
        was, self._is_overtaken = self._is_overtaken, in_force(self._control) != self._sha256
        if self._is_overtaken and not was:
            log.error("%s", Overtaken())
        self._shapes.write()
        self._keyring.write_used(self._today())
        self._limits.forget_past()

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
        try:
            self._shapes.write()
            self._keyring.write_used(self._today())
            self._limits.close()
        except StoreError as error:
            log.warning("counts were not written: %s", error)
        self._control.close()
