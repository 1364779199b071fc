"""A PostgreSQL server that says nothing, and sessions whose defaults are somebody else's."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.harness.collector import TODAY, batch, registry, report
from tests.server.storage.store_contract import screened, together

from benchmarks.postgres_server import Server
from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.settings import Settings
from rumor_server.storage.figures import read_figures
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.postgres import connection as connection_module
from rumor_server.storage.postgres.connection import upgrade, version
from rumor_server.storage.postgres.store import PostgresStore
from rumor_shared.wire import Verdict


class Proxy:
    """Carries bytes to a server's socket until it is told to swallow them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.silent = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._server)
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if not self.silent.is_set():
                    target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()


@contextmanager
def proxied(url: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before a server, and the address through it."""
    given = conninfo_to_dict(url)
    with closing(Proxy(f"{given['host']}/.s.PGSQL.{given['port']}")) as proxy:
        yield proxy, make_conninfo(url, host="127.0.0.1", port=proxy.port)


@pytest.fixture
def url(postgres: Server) -> str:
    """A database of ours."""
    made = postgres.make()
    upgrade(made)
    return made


def test_h3_21_every_call_ends_when_the_server_is_silent(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H3-21: a report, a read, readiness and the metrics end in their time, and recover."""
    monkeypatch.setattr(connection_module, "_SILENT_SECONDS", 0.5)
    monkeypatch.setattr(connection_module, "_CONNECT_SECONDS", 2)
    monkeypatch.setattr(connection_module.Connection, "silent_seconds", 0.5)
    with proxied(url) as (proxy, through):
        settings = Settings(database_url=through, database=tmp_path / "x", busy_seconds=0.5)
        with (
            closing(PostgresStore(through, busy_seconds=0.5)) as store,
            closing(Control(settings)) as control,
        ):
            store.declare(registry())
            read_figures(control)
            asks = (
                lambda: store.commit([screened(batch(report()))]),
                store.check,
                store.check_writable,
                lambda: read_figures(control),
            )
            proxy.silent.set()
            for ask in asks:
                began = time.monotonic()
                with pytest.raises(StoreUnavailable):
                    ask()
                assert time.monotonic() - began < 10
            proxy.silent.clear()
            # A connection that the pool was making has its time to give up.
            until = time.monotonic() + 10
            for ask in asks:
                while True:
                    try:
                        ask()
                        break
                    except StoreUnavailable:
                        assert time.monotonic() < until


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_h3_22_isolation_is_ours(url: str, level: str) -> None:
    """H3-22: whatever the database's default is, nodes count all, and caps are exact."""
    name = str(conninfo_to_dict(url)["dbname"])
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'".encode()
        )
    one = b"p" * 16
    nodes = [PostgresStore(url, busy_seconds=30) for _ in range(2)]
    accepted: list[bool] = []

    def send(node: PostgresStore, pseudonym: bytes | None) -> None:
        for _ in range(10):
            ((result,),) = node.commit([screened(batch(report(), pseudonym=pseudonym))])
            accepted.append(result.verdict is Verdict.ACCEPTED)

    try:
        for node in nodes:
            node.declare(registry())
        together([lambda node=node: send(node, None) for node in nodes * 4])  # type: ignore[misc]
        assert accepted == [True] * 80
        accepted.clear()
        together([lambda node=node: send(node, one) for node in nodes * 2])  # type: ignore[misc]
        assert sum(accepted) == 10
        assert nodes[0].tally(registry().metric("theme"), TODAY, TODAY).n == 90
    finally:
        for node in nodes:
            node.close()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_n18_refuses_another_encoding_before_it_makes_anything(
    postgres: Server, encoding: str
) -> None:
    """N-18: a database that isn't UTF-8 is refused with the fix, and left empty."""
    made = postgres.make()
    with psycopg.connect(made, autocommit=True) as admin:
        admin.execute(
            f"CREATE DATABASE other_{encoding.lower()} ENCODING '{encoding}' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'".encode()
        )
    other = make_conninfo(made, dbname=f"other_{encoding.lower()}")
    with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
        upgrade(other)
    with connection_module.connect(other, 1) as connection:
        assert version(connection) == 0
