"""The corpora of one command, each with an index that can be searched."""

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
from trueground.wings.search.building import (
    add_retrievers,
    build_index,
    default_index_path,
    ready_index,
)
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
        """The reason why hits are no longer cached, None if they are."""
        return self.index.problem


@dataclass(frozen=True)
class CorpusSession:
    """How the corpora of one command are opened.

    Attributes:
        cache: Whether cached hits are used, and new hits are added to the cache.
        scratch: Folder of a dry run, for an index that is thrown away. Default: the index is made
            where it is kept.
        shared: State that the sessions of one command share: the corpora that are open.
        progress: Called with the progress of the work.
        note: Called with each warning.
        note_once: Called with warnings that several sessions repeat, to show them once.
    """

    cache: bool = True
    scratch: Path | None = None
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    progress: Progress = do_nothing
    note: Callable[[str], None] = do_nothing
    note_once: Callable[[str], None] = do_nothing

    def open(self, source: Path, retrievers: Sequence[str]) -> SearchableCorpus:
        """Return a corpus with the files of its retrievers; missing files are built.

        A dry run doesn't build files that need a model: that may be hours of work, which would be
        thrown away.

        Args:
            source: The corpus, or an index.
            retrievers: The retrievers, as a user writes them.

        Raises:
            UsageError: A retriever can't be used, or takes too long in a dry run.
            InputError: The corpus can't be read.
            MissingExtraError: A retriever needs an optional package.
            WriteError: The index can't be written.
        """
        if self.scratch is not None:
            return self._open_in_scratch(source, retrievers, self.scratch)
        # A command reads the files of a corpus once, even if many tasks search it.
        corpora: dict[Path, Path] = self.shared.setdefault("corpora", {})
        if source in corpora:
            index = add_retrievers(corpora[source], retrievers, self.progress, note=self.note)
        else:
            index = ready_index(source, retrievers, progress=self.progress, note=self.note)
            corpora[source] = index.path

        def open_uncached(spec_text: str) -> OpenedRetriever:
            return _open_uncached(spec_text, index, lambda part: index.path / part.folder)

        def open_cached(spec_text: str) -> OpenedRetriever:
            """Open a retriever with cached hits, or warn and open it without the cache."""
            try:
                return index.open(spec_text)
            except UsageError as error:
                opened = open_uncached(spec_text)  # Raises if the retriever itself is wrong.
                self.note_once(f"search results can't be cached: {error}")
                return opened

        return SearchableCorpus(index, open_cached if self.cache else open_uncached)

    @staticmethod
    def check_retriever(spec_text: str) -> None:
        """Check the names, options and components of a retriever, without opening it.

        Args:
            spec_text: The retriever as a user writes it.

        Raises:
            UsageError: The retriever can't be used.
        """
        bases(spec_text)

    @staticmethod
    def find_passages(spec_text: str) -> Path | None:
        """Return the search results that a retriever names, if they contain passages.

        Args:
            spec_text: The retriever as a user writes it, such as `file:RESULTS.json`.

        Returns:
            The path of the results; None if it is another retriever, or they have no passages.
        """
        spec = ComponentSpec.parse("retriever", spec_text)
        if spec.name != RESULTS or spec.model is None:
            return None
        path = Path(spec.model).expanduser()
        return path if path.is_file() and is_results(path) else None

    def _open_in_scratch(
        self, source: Path, retrievers: Sequence[str], scratch: Path
    ) -> SearchableCorpus:
        """Open the index as it is, and build missing parts in the scratch folder."""
        numbers: dict[Path, str] = self.shared.setdefault("scratch indices", {})
        folder = scratch / numbers.setdefault(source, str(len(numbers)))
        scratch_index = folder / "index"
        if is_index(source):
            index = ready_index(source, [])
        elif is_index(index_path := default_index_path(source, progress=self.progress)):
            index = Index(index_path)
        elif is_index(scratch_index):
            index = Index(scratch_index)
        else:
            _check_cheap(source, parts_of(retrievers))
            folder.mkdir(parents=True, exist_ok=True)
            index = build_index(source, scratch_index, [], progress=self.progress, note=self.note)

        def folder_of(part: IndexPart) -> Path:
            return (folder if index.missing([part.spec_text]) else index.path) / part.folder

        missing = parts_of(index.missing(retrievers))
        _check_cheap(source, missing)
        for part in missing:
            folder.mkdir(parents=True, exist_ok=True)
            part.kind.build(folder_of(part), index.passages, part.spec, self.progress)
        return SearchableCorpus(
            index, lambda spec_text: _open_uncached(spec_text, index, folder_of)
        )


def _check_cheap(source: Path, parts: Iterable[IndexPart]) -> None:
    """Raise UsageError if a dry run would make vectors."""
    for part in parts:
        if part.spec.model is not None:
            raise UsageError(
                f"--dry-run: {part.spec_text} needs a vector for every passage of {source}, and "
                "they aren't all built yet. A dry run would build them and throw them away. Build "
                "them first: "
                f"trueground index build {quote(str(source))} --retriever {quote(part.spec_text)}"
            )


def _open_uncached(
    spec_text: str, index: Index, folder_of: Callable[[IndexPart], Path]
) -> OpenedRetriever:
    """Open a retriever without cached hits and without cached vectors of queries.

    Args:
        spec_text: The retriever as a user writes it.
        index: The index.
        folder_of: Returns the folder of a part.
    """

    def open_base(spec: ComponentSpec) -> OpenedRetriever:
        [part] = parts_of([spec.written])
        return part.kind.open(folder_of(part), index.passages, replace(spec, cache=False))

    return compose(spec_text, open_base, index.passages)
