"""Corpora of one command, each with an index that is ready for searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

from trueground.components import ComponentSpec
from trueground.errors import UsageError
from trueground.options import Progress, do_nothing
from trueground.wings.search.base import OpenedRetriever
from trueground.wings.search.building import add_retrievers, build_index, default_place, ready_index
from trueground.wings.search.formats import is_results
from trueground.wings.search.index import Index, IndexPart, is_index, parts_of
from trueground.wings.search.kinds import bases, compose
from trueground.wings.search.results import NAME as RESULTS
from trueground.wings.search.store import PassageStore

Open = Callable[[str], OpenedRetriever]


@dataclass(frozen=True)
class SearchableCorpus:
    """A corpus with its index.

    Attributes:
        index: The index.
        open: Opens a retriever of the index.
    """

    index: Index
    open: Open

    @property
    def passages(self) -> PassageStore:
        """The passages of the corpus."""
        return self.index.passages

    @property
    def problem(self) -> str | None:
        """What is wrong with the index without being in the way of a search."""
        return self.index.problem


@dataclass(frozen=True)
class CorpusSession:
    """How the corpora of one command are opened.

    Attributes:
        cache: Whether hits that were found earlier are read, and new ones kept.
        scratch: Folder of a dry run, in which an index is made that is thrown away. Default: the
            index is made where it is kept.
        shared: What the sessions of one command have in common: which corpora are open.
        progress: Is called with how far work is.
        note: Is called with what a user should know.
        note_once: The same, for what several sessions have to say once only.
    """

    cache: bool = True
    scratch: Path | None = None
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    progress: Progress = do_nothing
    note: Callable[[str], None] = do_nothing
    note_once: Callable[[str], None] = do_nothing

    def open(self, source: Path, retrievers: Sequence[str]) -> SearchableCorpus:
        """Return a corpus with the files of its retrievers, which are made if they are missing.

        In a dry run, what needs a model is not made: that may be hours of work, which would be
        thrown away.

        Raises:
            UsageError: A retriever can't be used, or takes too long in a dry run.
            InputError: The corpus can't be read.
            MissingExtraError: A retriever needs an optional package.
            WriteError: The index can't be written.
        """
        if self.scratch is not None:
            return self._open_in_scratch(source, retrievers, self.scratch)
        # The files of a corpus are read through once a command, however many tasks search it.
        known: dict[Path, Path] = self.shared.setdefault("corpora", {})
        if source in known:
            index = add_retrievers(known[source], retrievers, self.progress, note=self.note)
        else:
            index = ready_index(source, retrievers, progress=self.progress, note=self.note)
            known[source] = index.path

        def open_uncached(written: str) -> OpenedRetriever:
            return _open_uncached(written, index, lambda part: index.path / part.folder)

        def open_cached(written: str) -> OpenedRetriever:
            """Keep the hits. If the file of hits can't be used, warn."""
            try:
                return index.open(written)
            except UsageError as error:
                opened = open_uncached(written)  # raises what is wrong with the retriever itself
                self.note_once(f"what retrievers find is not kept for the next time: {error}")
                return opened

        return SearchableCorpus(index, open_cached if self.cache else open_uncached)

    @staticmethod
    def check_retriever(written: str) -> None:
        """Check names, options and parts of a retriever, without opening it.

        Raises:
            UsageError: The retriever can't be used.
        """
        bases(written)

    @staticmethod
    def find_passages(written: str) -> Path | None:
        """Return the results that a retriever names, if these hold the passages.

        Args:
            written: The retriever as a user writes it, such as `file:RESULTS.json`.
        """
        given = ComponentSpec.parse("retriever", written)
        if given.name != RESULTS or given.model is None:
            return None
        path = Path(given.model).expanduser()
        return path if path.is_file() and is_results(path) else None

    def _open_in_scratch(
        self, source: Path, retrievers: Sequence[str], scratch: Path
    ) -> SearchableCorpus:
        """The index as it is; what it lacks is made in a folder that goes again."""
        numbers: dict[Path, str] = self.shared.setdefault("scratch indices", {})
        folder = scratch / numbers.setdefault(source, str(len(numbers)))
        made = folder / "index"
        if is_index(source):
            index = ready_index(source, [])
        elif is_index(place := default_place(source, progress=self.progress)):
            index = Index(place)
        elif is_index(made):
            index = Index(made)
        else:
            _check_cheap(source, parts_of(retrievers))
            folder.mkdir(parents=True, exist_ok=True)
            index = build_index(source, made, [], progress=self.progress, note=self.note)

        def place_of(part: IndexPart) -> Path:
            return (folder if index.missing([part.written]) else index.path) / part.folder

        lacking = parts_of(index.missing(retrievers))
        _check_cheap(source, lacking)
        for part in lacking:
            folder.mkdir(parents=True, exist_ok=True)
            part.kind.build(place_of(part), index.passages, part.given, self.progress)
        return SearchableCorpus(index, lambda written: _open_uncached(written, index, place_of))


def _check_cheap(source: Path, parts: Iterable[IndexPart]) -> None:
    """Raise UsageError if a dry run would make vectors."""
    for part in parts:
        if part.given.model is not None:
            raise UsageError(
                f"--dry-run: {part.written} needs a vector of every passage of {source}, and "
                "they are not made yet; a dry run would make them and throw them away. Make "
                f"them first: trueground index build {quote(str(source))} --retriever "
                f"{quote(part.written)}"
            )


def _open_uncached(
    written: str, index: Index, place: Callable[[IndexPart], Path]
) -> OpenedRetriever:
    """Neither hits nor vectors of questions are kept or read; `place` is a part's folder."""

    def open_base(given: ComponentSpec) -> OpenedRetriever:
        [part] = parts_of([given.written])
        return part.kind.open(place(part), index.passages, replace(given, cache=False))

    return compose(written, open_base, index.passages)
