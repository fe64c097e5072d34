"""Statistics of response caches, and clearing them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trueground.errors import UsageError, WriteError
from trueground.net.cache_file import (
    UnreadableCacheError,
    describe_failure,
    files_of,
    is_busy,
    open_cache,
    read_cache,
    retry_while_locked,
)

_DELETE = "DELETE FROM reply WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR created < ?2)"
_COUNT = (
    "SELECT model, count(*), sum(tokens), min(created), max(created) "
    "FROM reply GROUP BY model ORDER BY count(*) DESC, model"
)


@dataclass(frozen=True)
class ModelShare:
    """Entries of one model in a cache, with the sum of their tokens."""

    model: str
    entries: int
    tokens: int


@dataclass(frozen=True)
class CacheStats:
    """Statistics of a cache: size on disk in bytes, times in UTC, models by entries."""

    path: Path
    entries: int
    bytes: int
    oldest: datetime | None
    newest: datetime | None
    models: tuple[ModelShare, ...]

    @classmethod
    def count(cls, path: Path) -> CacheStats:
        """Return the statistics of a cache, empty if it doesn't exist. Raises UsageError."""
        connection = read_cache(path)
        if connection is None:
            return cls(path, 0, 0, None, None, ())
        with closing(connection):
            try:
                rows = connection.execute(_COUNT).fetchall()
            except sqlite3.Error as error:
                raise UnreadableCacheError(describe_failure(path, error)) from error
        return cls(
            path,
            entries=sum(row[1] for row in rows),
            bytes=sum(file.stat().st_size for file in files_of(path)),
            oldest=datetime.fromtimestamp(min(row[3] for row in rows), UTC) if rows else None,
            newest=datetime.fromtimestamp(max(row[4] for row in rows), UTC) if rows else None,
            models=tuple(ModelShare(*row[:3]) for row in rows),
        )


def clear_caches(
    paths: Sequence[Path], model: str | None = None, older_than: timedelta | None = None
) -> list[int]:
    """Remove entries of caches and return how many were removed from each.

    Args:
        paths: The caches. If all entries are removed, a damaged file is deleted.
        model: Remove only the entries of this model.
        older_than: Remove only entries that are older.

    Raises:
        UsageError: A cache can't be used, or the model is in none of them.
        WriteError: A file can't be written.
    """
    if model is not None:
        cached_models: set[str] = set()
        for path in paths:
            cached_models.update(share.model for share in CacheStats.count(path).models)
        if cached_models and model not in cached_models:
            raise UsageError.unknown_name("model in the cache", model, cached_models)
    return [_clear(path, model, older_than) if path.exists() else 0 for path in paths]


def _clear(path: Path, model: str | None, older_than: timedelta | None) -> int:
    try:
        connection = open_cache(path)
    except UnreadableCacheError:
        if model is not None or older_than is not None:
            raise
        try:
            for file in files_of(path):
                with suppress(FileNotFoundError):
                    file.unlink()
        except OSError as error:
            raise WriteError(f"{path} can't be removed: {error.strerror or error}") from error
        return 0
    before = None if older_than is None else int(time.time() - older_than.total_seconds())
    try:
        gone = retry_while_locked(lambda: connection.execute(_DELETE, (model, before)).rowcount)
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            # Another process uses the file. The entries are removed; disk space is freed later.
            if not is_busy(error):
                raise
        return gone
    except sqlite3.Error as error:
        raise WriteError(
            f"{describe_failure(path, error)}. Or delete the file while no run uses it"
        ) from error
    finally:
        connection.close()
