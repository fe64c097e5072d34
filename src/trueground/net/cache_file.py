"""The file of a response cache: an SQLite database that several processes use at once."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trueground.errors import UsageError

T = TypeVar("T")
# Marks a database as ours ("tgrc"), so that nobody else's is ever written to or removed.
_APPLICATION = 0x74677263
_VERSION = 1
# `value` comes last: counting and summing then skip the pages into which long values overflow.
_TABLE = """
CREATE TABLE IF NOT EXISTS reply (
  key TEXT PRIMARY KEY,
  created INTEGER NOT NULL,
  model TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  packed INTEGER NOT NULL,
  value BLOB NOT NULL
)
"""
_BUSY_S = 10.0
_MAX_RETRY_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class UnreadableCacheError(UsageError):
    """The file is no cache that this version can read; clearing it is safe."""


def open_cache(path: Path) -> sqlite3.Connection:
    """A connection to the cache at `path`, which is made if it does not exist. UsageError."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            _check_ours(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # The log is synced when it is folded in; a crash of the machine costs the last
            # replies, never the file.
            connection.execute("PRAGMA synchronous = NORMAL")
            # Taken for writing also when all is there: an unwritable file shows here, not midway.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _check_identity(path, connection)
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return retry_while_locked(connect)
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from error


def read_cache(path: Path) -> sqlite3.Connection | None:
    """A connection that can only read; None if there is no cache yet. UsageError."""
    if not path.exists():
        return None
    # Not mode=ro: that would leave the files behind that SQLite makes beside the database.
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only = 1")
            if retry_while_locked(lambda: _check_ours(path, connection)):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def retry_while_locked(work: Callable[[], T]) -> T:
    """Repeat work while other processes hold the file, for a minute at most."""
    # Switching to the write-ahead log does not heed SQLite's own time-out, hence this one.
    end = time.monotonic() + _MAX_RETRY_S
    while True:
        try:
            return work()
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(random.uniform(0.01, 0.2))


def is_busy(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _BUSY


def describe_failure(path: Path, error: Exception) -> str:
    """What is wrong with the file and what to do, in words."""
    reason = getattr(error, "strerror", None) or error
    if _primary_code(error) in _DAMAGED:
        return (
            f"the response cache {path} is damaged: {reason}. `trueground cache clear` removes it; "
            "--no-cache goes without it"
        )
    return (
        f"the response cache {path} cannot be used: {reason}. Set TRUEGROUND_HOME to a folder that "
        "is writable and has room, make room with `trueground cache clear`, or pass --no-cache"
    )


def _primary_code(error: BaseException) -> int | None:
    """SQLite's primary result code; None where the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _unusable(path: Path, error: Exception) -> UsageError:
    kind = UnreadableCacheError if _primary_code(error) in _DAMAGED else UsageError
    return kind(describe_failure(path, error))


def _check_ours(path: Path, connection: sqlite3.Connection) -> bool:
    """The same in one view of the file, which another process may be creating."""
    with connection:
        connection.execute("BEGIN")
        return _check_identity(path, connection)


def _check_identity(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether our table is there already. UsageError: another program's, or another version's."""
    application, version, tables = (
        connection.execute(question).fetchone()[0]
        for question in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    if (application, version, tables) == (0, 0, 0):
        return False
    if application != _APPLICATION:
        raise UsageError(
            f"{path} is a database of another program and stays untouched. Move it away, set "
            f"TRUEGROUND_HOME to another folder, or pass --no-cache"
        )
    if version != _VERSION:
        raise UnreadableCacheError(
            f"the response cache {path} has version {version}; this trueground reads version "
            f"{_VERSION}. `trueground cache clear` removes it; --no-cache goes without it"
        )
    return True


def files_of(path: Path) -> list[Path]:
    """Return the database and the two files that SQLite keeps beside it, as far as they exist."""
    beside = (path.with_name(path.name + tail) for tail in ("", "-wal", "-shm"))
    return [file for file in beside if file.is_file()]
