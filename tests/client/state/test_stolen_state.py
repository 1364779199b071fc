"""What a copy of the state file shows, as docs/threat-model.md says: tags that guesses confirm."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.harness.devices import RAPPOR, device, registry_with

from rumor_client.perturbation.perturb import series_of
from rumor_client.state.memory import MemoryState
from rumor_client.state.protocol import Identity
from rumor_client.testing import seeded

REGISTRY = registry_with({"browser": {**RAPPOR, "max_values": 2}}, daily_epsilon=1000)


def tag_of(guess: str, identity: Identity) -> bytes:
    """Return the tag that a value has under a secret, by the client's own code."""
    state = MemoryState()
    client = device(REGISTRY, state=state, randomness=seeded(1))
    with state.transaction() as transaction:
        own = transaction.set_identity(identity.secret, identity.cohort)
    client.record("browser", guess)
    (tag,) = state.contents.slots(series_of(REGISTRY.metric("browser"), own))
    return tag


def test_a_copied_file_holds_no_value_and_confirms_a_guess(tmp_path: Path) -> None:
    """The value's text is nowhere in the bytes; its tag tells it from all other guesses. After a
    denial neither secret nor tag is left.
    """
    client = device(REGISTRY, state=tmp_path / "state")
    assert client.record("browser", "Firefox 140").recorded
    client.close()
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"Firefox" not in raw
    with sqlite3.connect(tmp_path / "state") as copy:
        identity = Identity(*copy.execute("SELECT secret, cohort, epoch FROM device").fetchone())
        (stored,) = copy.execute("SELECT tag FROM memo").fetchone()
    copy.close()
    guesses = ["Chrome 1", "Firefox 139", "Firefox 140", "Safari"]
    assert [guess for guess in guesses if tag_of(guess, identity) == stored] == ["Firefox 140"]
    again = device(REGISTRY, state=tmp_path / "state", granted=False)
    again.consent.deny()
    again.close()
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert identity.secret not in raw
    assert stored not in raw
