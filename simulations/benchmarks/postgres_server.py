"""A real PostgreSQL server to throw away: Debian's, in a folder of its own, durable as by default.

For measurements and tests. It needs psycopg, which the extra `postgres` brings.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

_DEBIAN = Path("/usr/lib/postgresql")
# It refuses to run as root; Debian's package brings a user for it.
_USER = "postgres"


def binaries() -> Path | None:
    """Where the server's programs are, or None where it is not installed."""
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which("initdb")
    return Path(found).parent if found else None


class Server:
    """A server on a socket in `folder`, reached by nobody else."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._made = 0

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://{_USER}@/{database}?host={self._folder}&port={self._port}"

    def make(self) -> str:
        """Make an empty database; return its address."""
        self._made += 1
        name = f"test{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server for as long as the context lasts. Raises FileNotFoundError without one."""
    found = binaries()
    if found is None:
        raise FileNotFoundError("initdb: PostgreSQL's server is not installed")
    as_root = os.geteuid() == 0
    user = _USER if as_root else None
    folder = Path(tempfile.mkdtemp(prefix="rumor-postgres-"))
    try:
        if as_root:
            account = pwd.getpwnam(_USER)
            os.chown(folder, account.pw_uid, account.pw_gid)
        data = folder / "data"

        def run(*words: str | Path) -> None:
            subprocess.run(  # noqa: S603 - our own words
                words, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=120
            )

        run(found / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        options = f"-p {port} -k {folder} -c listen_addresses= -c max_connections=200"
        run(found / "pg_ctl", "-D", data, "-l", folder / "log", "-o", options, "-w", "start")
        try:
            yield Server(folder, port)
        finally:
            run(found / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)
