"""The consent of the owner: `unset`, `granted` or `denied` for each purpose, with its date.

The most restrictive of environment, policy and stored choice wins; nothing stored means off. The
table of precedence is in docs/consent.md, and tested from there.

A denial by environment or policy suspends: it ends with its cause. A stored denial deletes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rumor_client.consent.policy import Policy, denied_by_environment
from rumor_client.errors import ConfigurationError, StateUnavailable
from rumor_client.process.clock import Clock
from rumor_client.state.protocol import State
from rumor_shared.days import utc_day

# A person who denies is worth waiting for, unlike a report.
DENIAL_WAIT = 5.0


class Choice(StrEnum):
    """What was decided for a purpose."""

    UNSET = "unset"
    """Nobody was asked. Nothing is recorded."""
    GRANTED = "granted"
    """The owner said yes, and neither policy nor environment says no."""
    DENIED = "denied"
    """The owner, a policy or the environment said no."""


@dataclass(frozen=True)
class Effective:
    """What holds for a purpose now, where it comes from, and since when if it was stored."""

    choice: Choice
    source: str
    as_of: date | None = None

    @property
    def granted(self) -> bool:
        """Whether reports may be made and sent."""
        return self.choice is Choice.GRANTED

    def __str__(self) -> str:
        since = f", since {self.as_of}" if self.as_of else ""
        return f"{self.choice} (from {self.source}{since})"


class Consent:
    """The consent of this device. `purposes` are those the registry declares."""

    def __init__(
        self,
        purposes: Iterable[str],
        state: State,
        clock: Clock,
        *,
        environ: Mapping[str, str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        before_denial: Callable[[], object] = lambda: None,
    ) -> None:
        self.purposes = tuple(sorted(set(purposes)))
        self._state = state
        self._clock = clock
        self._environ = os.environ if environ is None else environ
        self._policy = Policy(policy)
        self._before_denial = before_denial
        # Holds from the moment of the call, also where the file can't be written.
        self._denied_here: frozenset[str] = frozenset()

    def grant(self, purpose: str | None = None) -> None:
        """Store a grant for `purpose`, or for every purpose the registry declares now.

        A purpose that a later registry adds stays unset. Raises ConfigurationError for an unknown
        purpose, StateBusy and StateUnavailable.
        """
        chosen = self._chosen(purpose)
        today = utc_day(self._clock())
        with self._state.transaction(wait=DENIAL_WAIT) as transaction:
            for name in chosen:
                transaction.choose(name, Choice.GRANTED.value, today)
        self._denied_here = self._denied_here.difference(chosen)

    def ask_once(self, agrees: Callable[[], bool | None], purpose: str | None = None) -> bool:
        """Return whether there is consent, asking the owner if that was never decided.

        `agrees` puts the question and returns the answer: True is stored as a grant, False as a
        denial, and None (no answer) as nothing. It is called for `purpose`, or all that the
        registry declares, only while one of them is unset: neither a choice that was made nor an
        environment or a policy that denies is asked about again. Raises as `grant` and `deny` do.
        """
        chosen = self._chosen(purpose)
        stored = self._state.choices()
        if any(self.resolve(name, stored).choice is Choice.UNSET for name in chosen):
            answer = agrees()
            for name in chosen:
                if self.effective(name).choice is not Choice.UNSET or answer is None:
                    continue
                if answer:
                    self.grant(name)
                else:
                    self.deny(name)
        return all(self.is_granted(name) for name in chosen)

    def deny(self, purpose: str | None = None) -> bool:
        """Store a denial for `purpose`, or for all, and delete what it covers.

        Once this returns no further request starts; one that is under way is waited for, for at
        most two seconds. Gone are the reports that wait (of `purpose`), the memo and the secret:
        other purposes go on under a new one, and pay anew for their permanent answers. The ledger's
        totals stay. Returns whether the bytes are gone from the file as well; False means that a
        reader was in the way and that the next open tries again (see `Status.erasure_pending`).
        A denial needs no room: on a full disk all purposes are denied at once, and their bytes go
        with the first transaction that there is room for. Raises ConfigurationError, StateBusy and
        StateUnavailable; nothing is sent even so.
        """
        chosen = self._chosen(purpose)
        self._denied_here = self._denied_here.union(chosen)
        self._before_denial()
        today = utc_day(self._clock())
        try:
            self._store_denial(purpose, chosen, today)
        except StateUnavailable:
            if not self._state.revoke():
                raise
            return False
        return self._state.scrub()

    def _store_denial(self, purpose: str | None, chosen: Iterable[str], today: date) -> None:
        with self._state.transaction(wait=DENIAL_WAIT) as transaction:
            # A purpose of an earlier registry was granted too: "all" means it as well.
            earlier = transaction.choices() if purpose is None else ()
            for name in {*chosen, *earlier}:
                transaction.choose(name, Choice.DENIED.value, today)
            transaction.erase(purpose)

    def effective(self, purpose: str) -> Effective:
        """Return what holds for `purpose`. Raises StateBusy and StateUnavailable."""
        return self.resolve(purpose, self._state.choices())

    def is_granted(self, purpose: str) -> bool:
        """Return whether reports for `purpose` may be made and sent now.

        Raises StateBusy and StateUnavailable.
        """
        return self.effective(purpose).granted

    def resolve(self, purpose: str, stored: Mapping[str, tuple[str, date]]) -> Effective:
        """Return what holds for `purpose`, given the stored choices."""
        variable = denied_by_environment(self._environ)
        if variable is not None:
            return Effective(Choice.DENIED, variable)
        if self._policy.denies(purpose):
            return Effective(Choice.DENIED, "policy")
        choice, as_of = stored.get(purpose, (Choice.UNSET.value, None))
        if purpose in self._denied_here:
            return Effective(Choice.DENIED, "stored", as_of)
        return Effective(Choice(choice), "default" if as_of is None else "stored", as_of)

    def _chosen(self, purpose: str | None) -> tuple[str, ...]:
        if purpose is None:
            return self.purposes
        if purpose not in self.purposes:
            raise ConfigurationError(
                "purpose",
                "is not one that the registry declares",
                f"choose one of {', '.join(self.purposes)}",
            )
        return (purpose,)
