"""The store itself: pyoxigraph, in memory or on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError, MissingExtraError

if TYPE_CHECKING:
    from pyoxigraph import Store


def empty_store(path: Path | None = None) -> Store:
    """A store that can be written, in memory or in a folder. MissingExtraError, OSError."""
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
    try:
        return Store.read_only(str(path))
    except OSError as error:
        raise GraphError(
            f"the store {path} cannot be opened: {error}. Load the graph again with: trueground "
            "graph load SOURCE… --out DIR --overwrite"
        ) from error
