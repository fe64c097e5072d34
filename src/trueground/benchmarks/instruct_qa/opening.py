"""An index's retrievers, opened: with their hits kept on disk, or with nothing kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trueground.errors import UsageError
from trueground.plugins import PartSpec
from trueground.retrieval.base import OpenedRetriever
from trueground.retrieval.corpora.store import PassageStore
from trueground.retrieval.index import Index
from trueground.retrieval.index.opening import IndexPart, parts_of
from trueground.retrieval.kinds import compose


def open_kept(index: Index, written: str, note: Callable[[str], None]) -> OpenedRetriever:
    """Its hits are kept; where the file of hits cannot be used, `note` is told, and none are.

    Errors as of Index.open.
    """
    try:
        return index.open(written)
    except UsageError as error:
        # What is wrong with the retriever itself is wrong here too, and raised.
        opened = open_unkept(written, index.passages, lambda part: index.path / part.folder)
        note(f"what retrievers find is not kept for the next time: {error}")
        return opened


def open_unkept(
    written: str, passages: PassageStore, place: Callable[[IndexPart], Path]
) -> OpenedRetriever:
    """Neither its hits nor vectors of questions are kept or read; `place` is a part's folder.

    Errors as of Index.open.
    """

    def open_base(given: PartSpec) -> OpenedRetriever:
        [part] = parts_of([given.written])
        return part.kind.open(place(part), passages, replace(given, cache=False))

    return compose(written, open_base, passages)
