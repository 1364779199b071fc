"""Follow one value through the whole house: from `record` on a device to the estimates in JSON.

A device (its state in a SQLite file) records one value and uploads it over HTTP to a collector (the
real application on a socket, its tallies in a SQLite file), which is then asked for the metric's
estimates in JSON. All is imported, made and agreed to before; what is followed begins with the call
of `record` and ends with the answer. Threads are followed too. Two things are counted:

files   distinct source files of the rooms in which a function, method, comprehension or generator
        is entered on the way. What runs because a module is imported doesn't count, and
        `rumor_simulations` takes no part.
forms   distinct types of which an instance holds the value when a function of the rooms is given
        it, or gives it back. A type counts if it carries data: text, bytes, a tuple, list, dict,
        set or array, or a class of ours that is a dataclass, a named tuple, a msgspec Struct or a
        TypedDict. Before it is counted an instance holds the value if it has the value's text or
        the report's id (raw, hexadecimal or base64) in it, afterwards if it has a number for each
        value of the domain (an array, list or tuple of the domain's length, or bytes of so many
        64-bit integers) or the value's text. In it means: it is it, or one of its fields or items
        has it in it, down to five levels, through carriers of data alone. The registry and what it
        is made of always hold the value's text, and don't count.
"""

import dataclasses
import http.client
import importlib
import json
import pkgutil
import sys
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from tests.golden.opening import opened
from tests.house.counts import HOUSE

import rumor_client
import rumor_server
import rumor_shared
from rumor_client import Client

# Seven values: a length that nothing else on the way has.
VALUES = ("red", "orange", "yellow", "green", "blue", "indigo", "violet-wanted")
VALUE = VALUES[-1]
REGISTRY = f"""
[metrics.colour]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = {json.dumps(VALUES)}
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""
_ROOMS = tuple(f"{HOUSE / place}/" for place in ("shared", "client", "server"))
_DEPTH = 5


class Walk:
    """Notes, while it is `on`, which files are entered and in which forms the value comes by."""

    def __init__(self, beside: tuple[type, ...]) -> None:
        self.on = False
        self.files: dict[str, None] = {}
        self.forms: dict[str, None] = {}
        self.ids: set[bytes] = set()
        self._beside = beside

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take what `sys.setprofile` tells."""
        code = frame.f_code
        if not self.on or not code.co_filename.startswith(_ROOMS) or _importing(frame):
            return
        if event == "call":
            self.files[str(Path(code.co_filename).relative_to(HOUSE))] = None
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for name in given:
                if name in frame.f_locals:
                    self._look_at(frame.f_locals[name])
        elif event == "return":
            self._look_at(argument)

    def _look_at(self, thing: Any, depth: int = _DEPTH) -> bool:
        """Return whether a thing holds the value; note its type, and those within it, if so."""
        if isinstance(thing, self._beside) or depth == 0:
            return False
        if isinstance(thing, str):
            found = VALUE in thing or any(_written(one, thing) for one in self.ids)
        elif isinstance(thing, bytes | bytearray | memoryview):
            found = self._bytes_hold(bytes(thing))
        elif isinstance(thing, np.ndarray):
            found = len(VALUES) in thing.shape
        else:
            parts = list(_parts(thing))
            whole = [self._look_at(part, depth - 1) for part in parts]
            numbers = bool(parts) and all(isinstance(part, int | float) for part in parts)
            found = any(whole) or (numbers and len(parts) == len(VALUES))
        if found:
            kind = type(thing)
            self.forms[f"{kind.__module__}.{kind.__qualname__}"] = None
        return found

    def _bytes_hold(self, thing: bytes) -> bool:
        text = thing.decode("latin-1")
        tally = len(thing) == 8 * len(VALUES)
        return (
            tally or VALUE in text or any(one in thing or _written(one, text) for one in self.ids)
        )


def _written(id_: bytes, text: str) -> bool:
    return id_.hex() in text or b64encode(id_).decode() in text


def _parts(thing: Any) -> Iterator[Any]:
    """Yield what a carrier of data has in it; nothing for anything else."""
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, tuple | list | set | frozenset):
        yield from thing
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        yield from (getattr(thing, one.name, None) for one in dataclasses.fields(thing))
    elif hasattr(type(thing), "__struct_fields__"):
        yield from (getattr(thing, name) for name in type(thing).__struct_fields__)


def _importing(frame: FrameType | None) -> bool:
    """Whether a frame runs because a module is imported."""
    while frame is not None and frame.f_code.co_filename.startswith(_ROOMS):
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def follow(folder: Path) -> Walk:
    """Return what was met on the way of one value."""
    for room in (rumor_shared, rumor_client, rumor_server):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    today = datetime.now(UTC).date()
    # Made only to know the types that a registry is made of.
    with Client(REGISTRY.encode(), state=folder / "other", environ={}, policy="") as other:
        metric = other.registry.metrics["colour"]
        walk = Walk((type(other.registry), type(metric), type(metric.mechanism)))
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        with (
            # What the collector does by itself at times would be met or not, by chance.
            opened(folder / "rumor.sqlite3", REGISTRY, today, refresh_seconds=3600) as running,
            Client(
                REGISTRY.encode(),
                running.url,
                state=folder / "state",
                background=False,
                environ={},
                policy="",
            ) as client,
        ):
            client.consent.grant()
            _walk(walk, client, running.port)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def _walk(walk: Walk, client: Client, port: int) -> None:
    walk.on = True
    assert client.record("colour", VALUE).recorded
    walk.on = False
    walk.ids = {one.report.id for one in client.waiting()}
    walk.on = True
    assert client.flush().accepted == 1
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/v1/metrics/colour/estimates")
    page = json.loads(connection.getresponse().read())
    walk.on = False
    connection.close()
    assert page["n"] == 1
    assert page["rows"][-1]["value"] == VALUE


def report(*, details: bool) -> Iterator[str]:
    """Yield a line for each of both numbers, and with `details` what was met, in order."""
    with tempfile.TemporaryDirectory() as folder:
        walk = follow(Path(folder))
    for name, met in (
        ("files from record to a JSON answer", walk.files),
        ("forms one value takes on that way", walk.forms),
    ):
        yield f"{name:40} {len(met)}"
        if details:
            yield from (f"    {one}" for one in met)
