"""The response cache: values by key, across runs and processes.

It is an SQLite database with a write-ahead log, so many processes can read while one writes.
Reading takes microseconds, in the thread of the caller. A separate thread writes many entries per
transaction, so an event loop never waits for a disk.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import zstandard

from trueground.files import home
from trueground.net.cache_file import describe_failure, open_cache, read_cache, retry_while_locked

if TYPE_CHECKING:
    from datetime import timedelta

_INTERVAL_S = 0.05
_BATCH = 500
_PACK_ABOVE = 512  # bytes
_READ = "SELECT packed, value FROM reply WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?)"


class _CacheEntry(NamedTuple):
    value: bytes
    model: str
    tokens: int


class ResponseCache:
    """A map from key to bytes in one file, safe for several threads and processes.

    Attributes:
        path: The file.
        problem: None until reading or writing fails. Then it is the reason, and nothing more is
            written; the caller continues without the cache.
    """

    def __init__(self, path: Path) -> None:
        """Open the cache or create it. Raises UsageError if the file can't be used."""
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

    @classmethod
    def open(cls, kind: str = "responses") -> Self:
        """Open the cache of this kind, see `path_of`. Raises UsageError as the constructor does."""
        return cls(cls.path_of(kind))

    @staticmethod
    def path_of(kind: str = "responses") -> Path:
        """Return the path of a cache.

        Args:
            kind: `responses` of models, `vectors` of encoders, `searches` (hits of retrievers), or
                `graphs` (replies of SPARQL endpoints).
        """
        return home() / f"{kind}.sqlite"

    @staticmethod
    def clear(
        paths: Sequence[Path], model: str | None = None, older_than: timedelta | None = None
    ) -> list[int]:
        """Remove entries of these caches and return their numbers, see `clear_caches`."""
        from trueground.net.cache_contents import clear_caches

        return clear_caches(paths, model, older_than)

    @staticmethod
    @contextmanager
    def known_keys(path: Path | None) -> Iterator[Callable[[str], bool]]:
        """Yield a function that returns whether a key has a value. Raises UsageError.

        The cache isn't created or changed. If the path is None or has no cache, no key has a value.
        """
        connection = None if path is None else read_cache(path)
        if connection is None:
            yield lambda _key: False
            return
        with closing(connection):
            question = "SELECT 1 FROM reply WHERE key = ?"
            yield lambda key: connection.execute(question, (key,)).fetchone() is not None

    def get(self, key: str) -> bytes | None:
        """Return the last value of a key, even if it isn't written yet; None if there is none."""
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
        """Store a value in the background. `model` and `tokens` are for statistics."""
        with self._lock:
            if self._closing:
                raise RuntimeError(f"the response cache {self.path} is closed")
            if self.problem is not None:
                return
            self._waiting[key] = _CacheEntry(value, model, tokens)
            number = len(self._waiting)
        # Wake the thread twice per batch, because switching threads costs more than a put.
        if number == 1:
            self._wanted.set()
        elif number == _BATCH:
            self._full.set()

    def close(self) -> None:
        """Write the waiting entries and close the file."""
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
        """Write waiting entries until the cache is closed, in the writer thread."""
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
                retry_while_locked(self._commit)
            except Exception as error:  # A run must not fail because of its cache.
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
            self.problem = (
                f"{describe_failure(self.path, error)}. The run continues without caching"
            )
