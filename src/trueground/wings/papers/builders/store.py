"""Outcomes and paid replies of a build, in one SQLite file in its folder.

An outcome is the result of a stage for one item, stored under the hash of everything that it
depends on. Outcomes of items, prompts and models that are no longer used stay, so going back to
them costs nothing. Replies are stored here in addition to the response cache, which commits in
batches and may be off or cleared. Everything is committed before it is used: a build that is killed
loses only the calls under way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from trueground.errors import InputError, WriteError
from trueground.models import Reply
from trueground.types import Status

T = TypeVar("T")
STORE = "build.sqlite"
_APPLICATION = 0x74676264  # "tgbd" marks the file as a store of a build
_VERSION = 1
# Rows are only added, and the last row of a key counts. Keys are random, so with an index on them
# every commit would write pages all over the file.
_TABLES = """
CREATE TABLE outcome (id INTEGER PRIMARY KEY, stage TEXT, key TEXT, value BLOB);
CREATE TABLE reply (id INTEGER PRIMARY KEY, key TEXT, role TEXT, model TEXT, value BLOB);
"""
# The size of the write-ahead log, in pages, at which it is merged into the file. Merging waits for
# the disk, so it should be rare.
_CHECKPOINT_PAGES = 8_000
_FINAL = (None, Status.TRUNCATED)  # a call with another status may succeed next time
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class BuildStore:
    """Outcomes and replies by their keys. Belongs to one thread, and to one process at a time."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the store in a build's `work` folder, or create it.

        Args:
            folder: The `work` folder.
            read_only: Whether nothing is written. If there is no file, the store is empty.

        Raises:
            InputError: The file is damaged, or of another program or version.
            WriteError: The file can't be created.
        """
        self.path = folder / STORE
        self._connection: sqlite3.Connection | None = None
        self._replies: dict[str, int] = {}  # key → row
        if read_only and not self.path.exists():
            return
        try:
            with self._convert_errors():
                self._connection = sqlite3.connect(self.path, isolation_level=None)
                self._open(read_only)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def outcomes(self, stage: str) -> dict[str, bytes]:
        """Return all outcomes of a stage by key."""
        return dict(self._rows("SELECT key, value FROM outcome WHERE stage = ? ORDER BY id", stage))

    def put_outcome(self, stage: str, key: str, value: bytes) -> None:
        """Store an outcome. Raises WriteError."""
        self._write("INSERT INTO outcome VALUES (NULL, ?, ?, ?)", stage, key, value)

    def paid(self, key: str, kind: type[T]) -> T | None:
        """Return the stored reply or log-probabilities; None if there are no readable ones."""
        row = self._replies.get(key)
        for (value,) in self._rows("SELECT value FROM reply WHERE id = ?", row) if row else ():
            with suppress(msgspec.MsgspecError):
                return msgspec.msgpack.decode(value, type=kind)
        return None

    def put_paid(self, key: str, role: str, model: str, value: Reply | list[float]) -> None:
        """Store log-probabilities, or a complete or truncated reply. Raises WriteError."""
        if isinstance(value, list) or value.status in _FINAL:
            packed = msgspec.msgpack.encode(value)
            statement = "INSERT INTO reply VALUES (NULL, ?, ?, ?, ?)"
            self._replies[key] = self._write(statement, key, role, model, packed)

    def add(self, other: Path) -> None:
        """Copy the store in another `work` folder into this one. Raises InputError, WriteError."""
        with BuildStore(other, read_only=True):
            pass  # checks that it is a store
        assert self._connection is not None
        execute = self._connection.execute
        with self._convert_errors():
            execute("ATTACH ? AS other", (f"{other / STORE}",))
            execute(
                "INSERT INTO outcome SELECT NULL, stage, key, value FROM other.outcome "
                "WHERE key NOT IN (SELECT key FROM outcome) ORDER BY id"
            )
            execute(
                "INSERT INTO reply SELECT NULL, key, role, model, value FROM other.reply "
                "WHERE key NOT IN (SELECT key FROM reply) ORDER BY id"
            )
            execute("DETACH other")

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self, read_only: bool) -> None:
        assert self._connection is not None
        execute = self._connection.execute
        # Look for tables first: a process that creates the file commits them with the version.
        has_tables = execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        (application,) = execute("PRAGMA application_id").fetchone()
        (version,) = execute("PRAGMA user_version").fetchone()
        if has_tables and (application, version) != (_APPLICATION, _VERSION):
            raise InputError(
                f"{self.path} is of another version or another program; remove it and rerun the "
                "same command. Replies in the response cache are not paid for again"
            )
        if read_only:
            execute("PRAGMA query_only = 1")
            if not has_tables:  # another process is creating the file
                self.close()
                return
        # Commits survive the end of the process. A crash of the machine may lose the last ones.
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        if not has_tables and not read_only:
            self._connection.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id = {_APPLICATION};"
                f"PRAGMA user_version = {_VERSION}; COMMIT;"
            )
        self._replies = dict(execute("SELECT key, id FROM reply ORDER BY id").fetchall())

    def _rows(self, query: str, *values: Any) -> list[Any]:
        if self._connection is None:
            return []
        with self._convert_errors():
            return self._connection.execute(query, values).fetchall()
        raise AssertionError  # errors were raised

    def _write(self, statement: str, *values: Any) -> int:
        """Add a row, commit it at once, and return its number."""
        assert self._connection is not None
        with self._convert_errors():
            return self._connection.execute(statement, values).lastrowid or 0
        raise AssertionError  # errors were raised

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Errors of the module itself have no code.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise InputError(
                    f"{self.path} is damaged ({error}); remove it and rerun the same command. "
                    "Replies in the response cache are not paid for again"
                ) from error
            raise WriteError(
                f"writing {self.path} failed: {error}. All earlier results are kept in "
                f"{self.path.parent}. Make room or choose another --out, then rerun the command"
            ) from error
