"""The file behind the response cache: opening it, and telling what is wrong with it.

It is an SQLite database with a write-ahead log, so that readers and one writer at a time, in any
number of processes, do not disturb each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from trueground.errors import UsageError
from trueground.net.home import HOME_VARIABLE

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
_PATIENCE_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class UnreadableCacheError(UsageError):
    """The file is no cache that this version can read; clearing it is safe."""


def open_cache(path: Path) -> sqlite3.Connection:
    """A connection to the cache at `path`, which is made if it does not exist. UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return patiently(lambda: _connect(path))
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from error


def read_cache(path: Path) -> sqlite3.Connection | None:
    """A connection that can only read; None if there is no cache yet. UsageError."""
    if not path.exists():
        return None
    # Not mode=ro: that would leave the files behind that SQLite makes beside the database.
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_S, isolation_level=None
        )
        try:
            connection.execute("PRAGMA query_only = 1")
            made = patiently(lambda: _check_ours(path, connection))
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    if not made:
        connection.close()
        return None
    return connection


def files_of(path: Path) -> list[Path]:
    """The database and the two files that SQLite keeps beside it, as far as they exist."""
    beside = (path.with_name(path.name + tail) for tail in ("", "-wal", "-shm"))
    return [file for file in beside if file.is_file()]


def patiently(work: Callable[[], T]) -> T:
    """Do it again while other processes hold the file, for a minute at most."""
    # Switching to the write-ahead log does not heed SQLite's own time-out, hence this one.
    return Retrying(
        retry=retry_if_exception(lambda error: primary_code(error) in _BUSY),
        wait=wait_random(0.01, 0.2),
        stop=stop_after_delay(_PATIENCE_S),
        reraise=True,
    )(work)


def primary_code(error: BaseException) -> int | None:
    """SQLite's primary result code; None where the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process holds the file."""
    return primary_code(error) in _BUSY


def trouble(path: Path, error: Exception) -> str:
    """What is wrong with the file and what to do, in words."""
    reason = getattr(error, "strerror", None) or error
    if primary_code(error) in _DAMAGED:
        return (
            f"the response cache {path} is damaged: {reason}. `trueground cache clear` removes it; "
            "--no-cache goes without it"
        )
    return (
        f"the response cache {path} cannot be used: {reason}. Set {HOME_VARIABLE} to a folder that "
        "is writable and has room, make room with `trueground cache clear`, or pass --no-cache"
    )


def _unusable(path: Path, error: Exception) -> UsageError:
    kind = UnreadableCacheError if primary_code(error) in _DAMAGED else UsageError
    return kind(trouble(path, error))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        with connection:  # one view of the file, which another process may be creating
            connection.execute("BEGIN")
            _check_ours(path, connection)
        connection.execute("PRAGMA journal_mode = WAL")
        # The log is synced when it is folded in; a crash of the machine costs the last replies,
        # never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        # Taken for writing also when all is there: an unwritable file shows here, not midway.
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            _check_ours(path, connection)
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_ours(path: Path, connection: sqlite3.Connection) -> bool:
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
            f"{HOME_VARIABLE} to another folder, or pass --no-cache"
        )
    if version != _VERSION:
        raise UnreadableCacheError(
            f"the response cache {path} has version {version}; this trueground reads version "
            f"{_VERSION}. `trueground cache clear` removes it; --no-cache goes without it"
        )
    return True
