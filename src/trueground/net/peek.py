"""Looking into the response cache without touching it, for a dry run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from trueground.errors import UsageError
from trueground.net.cachefile import trouble


@contextmanager
def known_keys(path: Path | None) -> Iterator[Callable[[str], bool]]:
    """Whether the cache holds a key; no cache holds none. Raises UsageError. Writes nothing."""
    if path is None or not path.exists():
        yield lambda _key: False
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as cache:
            question = "SELECT 1 FROM reply WHERE key = ?"
            yield lambda key: cache.execute(question, (key,)).fetchone() is not None
    except sqlite3.Error as error:
        raise UsageError(trouble(path, error)) from error
