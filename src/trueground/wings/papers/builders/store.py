"""What a build has done and paid for, in one SQLite file of its folder, committed before use.

An outcome is what a stage made of one item, under the hash of all that it depends on. Outcomes of
items, prompts and models that are no longer used stay: who goes back to them pays nothing. Replies
of models stand here beside the response cache, which commits in batches and may be off or cleared.
Killed at any moment, a build loses no more than the calls that were under way.
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
_APPLICATION = 0x74676264  # "tgbd": a file of ours
_VERSION = 1
# Rows are only added, and the last one under a key counts: with an index on keys, which are random,
# every commit would write pages all over the file.
_TABLES = """
CREATE TABLE outcome (id INTEGER PRIMARY KEY, stage TEXT, key TEXT, value BLOB);
CREATE TABLE reply (id INTEGER PRIMARY KEY, key TEXT, role TEXT, model TEXT, value BLOB);
"""
_FOLD_AFTER = 8_000  # pages of the write-ahead log: folding it in waits for the disk
_FINAL = (None, Status.TRUNCATED)  # others may do better next time
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class BuildStore:
    """Outcomes and replies by their keys. Belongs to one thread, and to one process at a time."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the store of a build's `work` folder, or make it.

        Without a file, one that is `read_only` has nothing, and makes nothing. InputError: another
        program's file, another version's, a damaged one. WriteError.
        """
        self.path = folder / STORE
        self._connection: sqlite3.Connection | None = None
        self._replies: dict[str, int] = {}  # key → row
        if read_only and not self.path.exists():
            return
        try:
            with self._telling():
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
        """All outcomes of a stage, as they were put."""
        return dict(self._rows("SELECT key, value FROM outcome WHERE stage = ? ORDER BY id", stage))

    def put_outcome(self, stage: str, key: str, value: bytes) -> None:
        """Keep an outcome. Raises WriteError."""
        self._write("INSERT INTO outcome VALUES (NULL, ?, ?, ?)", stage, key, value)

    def paid(self, key: str, kind: type[T]) -> T | None:
        """The reply, or the log-probabilities, paid for under the key; None if none can be read."""
        row = self._replies.get(key)
        for (value,) in self._rows("SELECT value FROM reply WHERE id = ?", row) if row else ():
            with suppress(msgspec.MsgspecError):
                return msgspec.msgpack.decode(value, type=kind)
        return None

    def put_paid(self, key: str, role: str, model: str, value: Reply | list[float]) -> None:
        """Keep log-probabilities, or a reply that is whole or truncated. Raises WriteError."""
        if isinstance(value, list) or value.status in _FINAL:
            packed = msgspec.msgpack.encode(value)
            statement = "INSERT INTO reply VALUES (NULL, ?, ?, ?, ?)"
            self._replies[key] = self._write(statement, key, role, model, packed)

    def add(self, other: Path) -> None:
        """Take over what the store in another build's `work` folder has. InputError, WriteError."""
        with BuildStore(other, read_only=True):
            pass  # it is one of ours
        assert self._connection is not None
        execute = self._connection.execute
        with self._telling():
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
        """Let go of the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self, read_only: bool) -> None:
        assert self._connection is not None
        execute = self._connection.execute
        # In this order: another process that makes the file commits its tables with the version.
        begun = execute("SELECT 1 FROM sqlite_master").fetchone() is not None
        ours, version = (
            execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if begun and (ours, version) != (_APPLICATION, _VERSION):
            raise InputError(
                f"{self.path} is of another version or another program; remove it and run the same "
                "command again: replies in the response cache are not paid for again"
            )
        if read_only:
            execute("PRAGMA query_only = 1")
            if not begun:  # in the making: nothing is there yet
                self.close()
                return
        # A commit survives the process; only a crash of the machine may cost the last ones.
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute(f"PRAGMA wal_autocheckpoint = {_FOLD_AFTER}")
        if not begun and not read_only:
            self._connection.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id = {_APPLICATION};"
                f"PRAGMA user_version = {_VERSION}; COMMIT;"
            )
        self._replies = dict(execute("SELECT key, id FROM reply ORDER BY id").fetchall())

    def _rows(self, question: str, *values: Any) -> list[Any]:
        with self._telling():
            known = self._connection
            return [] if known is None else known.execute(question, values).fetchall()

    def _write(self, statement: str, *values: Any) -> int:
        """Add a row, which is committed at once; its number."""
        assert self._connection is not None
        with self._telling():
            return self._connection.execute(statement, values).lastrowid or 0
        raise AssertionError  # what went wrong was raised

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise InputError(
                    f"{self.path} is damaged ({error}); remove it and run the same command again: "
                    "replies in the response cache are not paid for again"
                ) from error
            raise WriteError(
                f"writing {self.path} failed: {error}. What was finished before is intact in "
                f"{self.path.parent}. Make room or choose another --out, then run again."
            ) from error
