"""An index: a folder with the passages of a corpus and the files of retrievers over them."""

from __future__ import annotations

from trueground.retrieval.index.building import (
    add_retrievers,
    build_index,
    ready_index,
    usual_place,
)
from trueground.retrieval.index.file import is_index
from trueground.retrieval.index.opening import Index, open_index

__all__ = [
    "Index",
    "add_retrievers",
    "build_index",
    "is_index",
    "open_index",
    "ready_index",
    "usual_place",
]
