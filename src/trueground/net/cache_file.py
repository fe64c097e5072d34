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
# Identifies the databases of this package ("tgrc"), so that no other database is changed.
_APPLICATION = 0x74677263
_VERSION = 1
# `value` is the last column, so counting skips the overflow pages of long values.
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
    """This version can't read the cache. Clearing it is safe."""


def open_cache(path: Path) -> sqlite3.Connection:
    """Open the cache at `path`, or create it. Raises UsageError."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            _check_ours(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # The log is synced at checkpoints. If the computer crashes, the last replies may be
            # lost, but the file stays valid.
            connection.execute("PRAGMA synchronous = NORMAL")
            # Lock for writing even if the table exists, to detect a read-only file early.
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
    """Open the cache for reading; None if it doesn't exist. Raises UsageError."""
    if not path.exists():
        return None
    # With mode=ro, SQLite would leave its temporary files next to the database.
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
    # SQLite's timeout doesn't apply to switching to the write-ahead log.
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
    """Return the error message about the file, with what to do."""
    reason: object = error
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    if _primary_code(error) in _DAMAGED:
        return (
            f"the response cache {path} is damaged: {reason}. Remove it with `trueground cache "
            "clear`, or pass --no-cache"
        )
    return (
        f"the response cache {path} can't be used: {reason}. Set TRUEGROUND_HOME to a writable "
        "folder with free space, free space with `trueground cache clear`, or pass --no-cache"
    )


def _primary_code(error: BaseException) -> int | None:
    """Return SQLite's primary result code; None if the error has none."""
    # Errors of the module itself, such as a closed connection, have no code.
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _unusable(path: Path, error: Exception) -> UsageError:
    kind = UnreadableCacheError if _primary_code(error) in _DAMAGED else UsageError
    return kind(describe_failure(path, error))


def _check_ours(path: Path, connection: sqlite3.Connection) -> bool:
    """Call `_check_identity` in a transaction, as another process may be creating the file."""
    with connection:
        connection.execute("BEGIN")
        return _check_identity(path, connection)


def _check_identity(path: Path, connection: sqlite3.Connection) -> bool:
    """Return whether the table exists. UsageError if the file has another program or version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (application, version, tables) == (0, 0, 0):
        return False
    if application != _APPLICATION:
        raise UsageError(
            f"{path} is a database of another program, so it wasn't changed. Move it, set "
            "TRUEGROUND_HOME to another folder, or pass --no-cache"
        )
    if version != _VERSION:
        raise UnreadableCacheError(
            f"the response cache {path} has version {version}, but this trueground needs version "
            f"{_VERSION}. Remove it with `trueground cache clear`, or pass --no-cache"
        )
    return True


def files_of(path: Path) -> list[Path]:
    """Return the database and SQLite's two temporary files, if they exist."""
    files = (path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
    return [file for file in files if file.is_file()]
