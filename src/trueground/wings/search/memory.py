"""A corpus in memory, and retrievers that search it without files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trueground.types import Passage
from trueground.wings.search.base import OpenedRetriever
from trueground.wings.search.corpus import read_corpus
from trueground.wings.search.kinds import open_over
from trueground.wings.search.store import PassageEntry, PassageStore


@dataclass(frozen=True)
class MemoryCorpus:
    """A corpus in memory.

    Attributes:
        passages: The passages of the corpus.
    """

    passages: PassageStore

    @classmethod
    def of_passages(cls, passages: Iterable[Passage]) -> MemoryCorpus:
        """Return a corpus of passages; the id of a passage without one is its number, from 0."""
        entries = []
        for number, passage in enumerate(passages):
            id_ = number if passage.id is None else passage.id
            entries.append(PassageEntry(passage.text, str(id_), passage.title, passage.source))
        return cls(PassageStore(None, entries))

    @classmethod
    def read(cls, path: Path, titles: Path | None = None) -> MemoryCorpus:
        """Return the corpus of a file, or of a folder of files, whose rows are passages.

        Args:
            path: The file or folder.
            titles: The file of titles, if `path` has the texts of Truly-Ground's corpus.

        Raises:
            InputError: A row isn't valid, or a link leads out of the folder.
        """
        return cls(read_corpus(path, titles))

    def open(self, retriever: str) -> OpenedRetriever:
        """Return a retriever over the passages; its first search makes indexes and vectors.

        Args:
            retriever: The retriever as a user writes it, such as `bm25`.

        Raises:
            UsageError: The retriever can't be used in memory.
            InputError: Its files can't be read.
            MissingExtraError: It needs an optional package.
        """
        return open_over(retriever, self.passages)
