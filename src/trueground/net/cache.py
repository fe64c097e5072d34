"""Values kept under a key across runs and processes: the response cache.

An SQLite database with a write-ahead log, so that readers and one writer at a time, in any number
of processes, do not disturb each other. Reading costs microseconds and happens in the caller's
thread. Writing is handed to a thread of its own that commits many entries at once, so that an event
loop never waits for a disk.
"""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import zstandard

from trueground.errors import UsageError, WriteError, unknown_name
from trueground.net.files import HOME_VARIABLE, home

T = TypeVar("T")
_INTERVAL_S = 0.05
_BATCH = 500
_PACK_ABOVE = 512  # bytes
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
_READ = "SELECT packed, value FROM reply WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?)"
_BUSY_S = 10.0
_PATIENCE_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def cache_path(of: str = "responses") -> Path:
    """Where a cache is kept: `responses` of models, `vectors` that encoders computed, `searches`
    (hits of retrievers), `graphs` (replies of SPARQL endpoints); all of one make.
    """
    return home() / f"{of}.sqlite"


class UnreadableCacheError(UsageError):
    """The file is no cache that this version can read; clearing it is safe."""


class _CacheEntry(NamedTuple):
    value: bytes
    model: str
    tokens: int


class ResponseCache:
    """A map from key to bytes in one file; safe with several threads and processes.

    `problem` is None until reading or writing fails midway. Then it says what happened, nothing
    more is written, and the caller's work goes on without the cache.
    """

    def __init__(self, path: Path) -> None:
        """Open the cache, or make it. Raises UsageError if the file cannot be used."""
        self.path = path
        self.problem: str | None = None
        self._reader = open_cache(path)
        self._writer = open_cache(path)
        self._pack = zstandard.ZstdCompressor(level=3)
        self._unpack = zstandard.ZstdDecompressor()
        self._lock = threading.Lock()
        self._waiting: dict[str, _CacheEntry] = {}
        self._writing: dict[str, _CacheEntry] = {}
        self._closing = False
        self._wanted = threading.Event()
        self._full = threading.Event()
        self._thread = threading.Thread(target=self._write, name="response-cache", daemon=True)
        self._thread.start()

    def get(self, key: str) -> bytes | None:
        """The value last put under the key, committed or not; None if there is none."""
        with self._lock:
            held = self._waiting.get(key) or self._writing.get(key)
            if held is not None:
                return held.value
            try:
                row = self._reader.execute(_READ, (key,)).fetchone()
                if row is None:
                    return None
                packed, value = row
                return self._unpack.decompress(value) if packed else bytes(value)
            except (sqlite3.Error, zstandard.ZstdError) as error:
                self._give_up(error)
                return None

    def put(self, key: str, value: bytes, *, model: str = "", tokens: int = 0) -> None:
        """Keep the value; returns at once. `model` and `tokens` are for `stats` and `clear`."""
        with self._lock:
            if self._closing:
                raise RuntimeError(f"the response cache {self.path} is closed")
            if self.problem is not None:
                return
            self._waiting[key] = _CacheEntry(value, model, tokens)
            number = len(self._waiting)
        # Two wake-ups for a batch, not one for an entry: switching threads costs more than a put.
        if number == 1:
            self._wanted.set()
        elif number == _BATCH:
            self._full.set()

    def close(self) -> None:
        """Commit what is waiting and let go of the file."""
        with self._lock:
            self._closing = True
        self._wanted.set()
        self._full.set()
        self._thread.join()
        self._writer.close()
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _write(self) -> None:
        """The writer thread: take what is waiting, commit it, until closed."""
        last = False
        while not last:
            self._wanted.wait()
            self._full.wait(_INTERVAL_S)
            with self._lock:
                last = self._closing
                self._writing, self._waiting = self._waiting, {}
                self._wanted.clear()
                self._full.clear()
            try:
                patiently(self._commit)
            except Exception as error:  # whatever it is, the run must not depend on its cache
                self._give_up(error)
            with self._lock:
                self._writing = {}

    def _commit(self) -> None:
        now = int(time.time())
        rows = []
        for key, (value, model, tokens) in self._writing.items():
            packed = len(value) > _PACK_ABOVE
            kept = self._pack.compress(value) if packed else value
            rows.append((key, now, model, tokens, packed, kept))
        with self._writer:
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany(_WRITE, rows)

    def _give_up(self, error: Exception) -> None:
        if self.problem is None:
            self.problem = f"{describe(self.path, error)}. The work goes on; no more is cached"


@contextmanager
def known_keys(path: Path | None) -> Iterator[Callable[[str], bool]]:
    """Whether a key has a value, without making or changing a cache; None has none. UsageError."""
    connection = None if path is None else read_cache(path)
    if connection is None:
        yield lambda _key: False
        return
    with closing(connection):
        question = "SELECT 1 FROM reply WHERE key = ?"
        yield lambda key: connection.execute(question, (key,)).fetchone() is not None


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
        return patiently(connect)
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
            if patiently(lambda: _check_ours(path, connection)):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def patiently(work: Callable[[], T]) -> T:
    """Do it again while other processes hold the file, for a minute at most."""
    # Switching to the write-ahead log does not heed SQLite's own time-out, hence this one.
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return work()
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(random.uniform(0.01, 0.2))


def is_busy(error: sqlite3.Error) -> bool:
    return _primary_code(error) in _BUSY


def describe(path: Path, error: Exception) -> str:
    """What is wrong with the file and what to do, in words."""
    reason = getattr(error, "strerror", None) or error
    if _primary_code(error) in _DAMAGED:
        return (
            f"the response cache {path} is damaged: {reason}. `trueground cache clear` removes it; "
            "--no-cache goes without it"
        )
    return (
        f"the response cache {path} cannot be used: {reason}. Set {HOME_VARIABLE} to a folder that "
        "is writable and has room, make room with `trueground cache clear`, or pass --no-cache"
    )


def _primary_code(error: BaseException) -> int | None:
    """SQLite's primary result code; None where the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _unusable(path: Path, error: Exception) -> UsageError:
    kind = UnreadableCacheError if _primary_code(error) in _DAMAGED else UsageError
    return kind(describe(path, error))


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
            f"{HOME_VARIABLE} to another folder, or pass --no-cache"
        )
    if version != _VERSION:
        raise UnreadableCacheError(
            f"the response cache {path} has version {version}; this trueground reads version "
            f"{_VERSION}. `trueground cache clear` removes it; --no-cache goes without it"
        )
    return True


_DELETE = "DELETE FROM reply WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"
_COUNT = (
    "SELECT model, count(*), sum(tokens), min(created), max(created) "
    "FROM reply GROUP BY model ORDER BY count(*) DESC, model"
)


@dataclass(frozen=True)
class ModelShare:
    """What the cache holds of one model; `tokens` is the sum over its entries."""

    model: str
    entries: int
    tokens: int


@dataclass(frozen=True)
class CacheStats:
    """What the cache holds; `bytes` on disk, times in UTC, most entries first."""

    path: Path
    entries: int
    bytes: int
    oldest: datetime | None
    newest: datetime | None
    models: tuple[ModelShare, ...]


def stats(path: Path) -> CacheStats:
    """Count what is in the cache; a cache that does not exist is empty. UsageError."""
    connection = read_cache(path)
    if connection is None:
        return CacheStats(path, 0, 0, None, None, ())
    with closing(connection):
        try:
            rows = connection.execute(_COUNT).fetchall()
        except sqlite3.Error as error:
            raise UnreadableCacheError(describe(path, error)) from error
    return CacheStats(
        path,
        entries=sum(row[1] for row in rows),
        bytes=sum(file.stat().st_size for file in _files_of(path)),
        oldest=datetime.fromtimestamp(min(row[3] for row in rows), UTC) if rows else None,
        newest=datetime.fromtimestamp(max(row[4] for row in rows), UTC) if rows else None,
        models=tuple(ModelShare(*row[:3]) for row in rows),
    )


def clear_several(
    paths: Sequence[Path], model: str | None = None, older_than: timedelta | None = None
) -> list[int]:
    """Remove entries: all, those of a model, those older than a time. Returns their numbers.

    A model need be known to one of the files only. A damaged one is removed as a whole when all is
    to go. UsageError, WriteError.
    """
    if model is not None:
        known = [{share.model for share in stats(path).models} for path in paths]
        everywhere = set[str]().union(*known)
        if everywhere and model not in everywhere:
            raise unknown_name("model in the cache", model, everywhere)
    return [_clear(path, model, older_than) if path.exists() else 0 for path in paths]


def _clear(path: Path, model: str | None, older_than: timedelta | None) -> int:
    try:
        connection = open_cache(path)
    except UnreadableCacheError:
        if model is not None or older_than is not None:
            raise
        try:
            for file in _files_of(path):
                with suppress(FileNotFoundError):
                    file.unlink()
        except OSError as error:
            raise WriteError(f"{path} cannot be removed: {error.strerror or error}") from error
        return 0
    before = None if older_than is None else int(time.time() - older_than.total_seconds())
    try:
        gone = patiently(lambda: connection.execute(_DELETE, (model, before)).rowcount)
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            # Another process is at work: the entries are gone, the space comes back another time.
            if not is_busy(error):
                raise
        return gone
    except sqlite3.Error as error:
        raise WriteError(
            f"{describe(path, error)}; or delete the file while no run uses it"
        ) from error
    finally:
        connection.close()


def _files_of(path: Path) -> list[Path]:
    """The database and the two files that SQLite keeps beside it, as far as they exist."""
    beside = (path.with_name(path.name + tail) for tail in ("", "-wal", "-shm"))
    return [file for file in beside if file.is_file()]
