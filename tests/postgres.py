"""A real PostgreSQL for tests, from Debian's package: started in a folder of its own, and ended."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_BINARIES = Path("/usr/lib/postgresql")
_USERS = ("postgres", "nobody")  # it refuses to be run by root


def find_binaries() -> Path | None:
    """The folder of the newest PostgreSQL that is installed."""
    found = [path for path in _BINARIES.glob("*/bin") if (path / "initdb").exists()]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class Postgres:
    """A server on loopback; `new_database` gives the address of an empty database."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._numbers = count(1)

    def new_database(self) -> str:
        """Make a database; its URL."""
        import psycopg

        name = f"labels_{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://labels@127.0.0.1:{self.port}/{name}"


@contextmanager
def postgres(*, safe: bool = False) -> Iterator[Postgres]:
    """A server that runs while this lasts. `safe`: it waits for the disk, as in real life."""
    binaries = find_binaries()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="trueground-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = next(pwd.getpwnam(name) for name in _USERS)
        os.chown(folder, user.pw_uid, user.pw_gid)
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        as_user = ["setpriv", *ids]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    data = folder / "data"
    make = [binaries / "initdb", "-D", data, "-U", "labels", "-A", "trust", "-N", "-E", "UTF8"]
    settings = [] if safe else ["-c", "fsync=off", "-c", "synchronous_commit=off"]
    words = [binaries / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder]
    log = folder / "log"
    process = None
    try:
        subprocess.run([*as_user, *make], check=True, capture_output=True, cwd=folder)
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*as_user, *words, *settings], stdout=out, stderr=out, cwd=folder
            )
        give_up = time.monotonic() + 30
        ready = [binaries / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, capture_output=True).returncode:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.05)
        yield Postgres(port)
    finally:
        if process is not None:
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
