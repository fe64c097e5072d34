"""The store itself: pyoxigraph, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError, MissingExtraError

if TYPE_CHECKING:
    from pyoxigraph import Store


def empty_store(path: Path | None = None) -> Store:
    """A store that can be written, in memory or in a folder.

    MissingExtraError; OSError; RuntimeError: what is in the folder is damaged.
    """
    try:
        from pyoxigraph import Store
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    return Store() if path is None else Store(str(path))


def read_store(path: Path) -> Store:
    """A store on disk that any number of processes may read at once. GraphError."""
    try:
        from pyoxigraph import Store
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    with readable(f"the store {path}"):
        return Store.read_only(str(path))


@contextmanager
def readable(what: str) -> Iterator[None]:
    """GraphError where a store cannot be read."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise unreadable(what, error) from error


def unreadable(what: str, error: Exception) -> GraphError:
    """What an OSError means, or a RuntimeError: so pyoxigraph tells damage."""
    return GraphError(
        f"{what} cannot be read: {error}; expected it as it was loaded. Load the graph again with: "
        "trueground graph load SOURCE… --out DIR --overwrite"
    )
