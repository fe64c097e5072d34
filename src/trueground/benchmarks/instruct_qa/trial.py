"""A corpus for a dry run: searched like any other, and nothing of it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

from trueground.benchmarks.instruct_qa.opening import open_unkept
from trueground.errors import UsageError
from trueground.options import Note, Progress
from trueground.retrieval.base import OpenedRetriever
from trueground.retrieval.corpora.reading import CorpusReading
from trueground.retrieval.index import (
    Index,
    build_index,
    is_index,
    ready_index,
    usual_place,
)
from trueground.retrieval.index.file import read_index_file
from trueground.retrieval.index.opening import IndexPart, parts_of


class Trial:
    """The index of a corpus as it is, with what it lacks in a folder of the dry run's own.

    What needs a model is not made: that may be hours of work, which would be thrown away.
    """

    def __init__(
        self,
        source: Path,
        folder: Path,
        reading: CorpusReading,
        retrievers: Sequence[str],
        progress: Progress,
        note: Note,
    ) -> None:
        """`folder` is made if need be. UsageError: one of the retrievers needs a model's vectors
        that are not there; InputError, MissingExtraError, WriteError.
        """
        self._source, self._folder, self._progress = source, folder, progress
        self._words = "" if reading == CorpusReading() else f" --passage-words {reading.words}"
        found = _there(source, reading, progress)
        if found is None:
            self._check_cheap(parts_of(retrievers))
            folder.mkdir(parents=True)
            found = build_index(source, folder / "index", [], reading, progress, note=note)
        self.index = found

    def add(self, retrievers: Sequence[str]) -> None:
        """Make what the index lacks. UsageError: it needs a model."""
        lacking = parts_of(self.index.missing(retrievers))
        self._check_cheap(lacking)
        for part in lacking:
            self._folder.mkdir(parents=True, exist_ok=True)
            place = self._folder / part.folder
            part.kind.build(place, self.index.passages, part.given, self._progress)

    def open(self, written: str) -> OpenedRetriever:
        """A retriever over the passages; neither its hits nor vectors of questions are kept.

        Errors as of Index.open.
        """

        def place(part: IndexPart) -> Path:
            lacks = self.index.missing([part.written])
            return (self._folder if lacks else self.index.path) / part.folder

        return open_unkept(written, self.index.passages, place)

    def _check_cheap(self, parts: Iterable[IndexPart]) -> None:
        for part in parts:
            if part.given.model is not None:
                raise UsageError(
                    f"--dry-run: {part.written} needs a vector of every passage of "
                    f"{self._source}, and they are not made yet; a dry run would make them and "
                    "throw them away. Make them first: trueground index build "
                    f"{quote(str(self._source))} --retriever {quote(part.written)}{self._words}"
                )


def _there(source: Path, reading: CorpusReading, progress: Progress) -> Index | None:
    """The index that the corpus is or has; None where it has none whose passages are whole."""
    if is_index(source):
        return ready_index(source, [], reading)
    place = usual_place(source, reading, progress)
    if not is_index(place) or read_index_file(place).passages is None:
        return None
    return Index(place)
