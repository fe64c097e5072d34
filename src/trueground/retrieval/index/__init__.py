"""An index: a folder with the passages of a corpus and the files of retrievers over them."""

from __future__ import annotations

from trueground.retrieval.index.index import (
    Index,
    add_retrievers,
    build_index,
    is_index,
    open_index,
    ready_index,
    usual_place,
)

__all__ = [
    "Index",
    "add_retrievers",
    "build_index",
    "is_index",
    "open_index",
    "ready_index",
    "usual_place",
]
