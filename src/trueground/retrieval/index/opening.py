"""An index that is there: what it holds, and its retrievers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.net.cache import ResponseCache, searches_path
from trueground.options import Progress, no_progress
from trueground.plugins import PartSpec, parse_part
from trueground.retrieval.base import OpenedRetriever, RetrieverKind
from trueground.retrieval.corpora.reading import reading_of
from trueground.retrieval.corpora.store import PassageStore
from trueground.retrieval.corpora.store_files import TornError
from trueground.retrieval.index.file import PASSAGES, IndexFile, read_index_file
from trueground.retrieval.index.sources import difference
from trueground.retrieval.kept import CachedRetriever
from trueground.retrieval.kinds import bases, compose, kind_of


class Index:
    """A folder of passages that can be searched.

    `signature` stands for the passages, wherever the index lies. `retrievers` are those that were
    built to the end, as they were written when they were added.
    """

    def __init__(self, path: Path) -> None:
        """InputError: no index, passages that are not whole."""
        self.path = path
        state = read_index_file(path)
        if state.passages is None:
            raise InputError(
                f"the index {path} is not finished: its passages are not whole. Go on with: "
                f"trueground index build {state.corpus} --out {path}"
            )
        anew = f"make them anew from the corpus with: trueground index build {path}"
        try:
            self.passages = PassageStore(path / PASSAGES)
        except TornError as error:
            raise InputError(
                f"the index {path} cannot be used: {str(error).rpartition('; ')[0]}; {anew}"
            ) from error
        if self.passages.sha256 != state.passages.sha256:
            raise InputError(
                f"{path / PASSAGES} holds other passages than {path} was made with; {anew}"
            )
        self.signature = f"passages:{self.passages.sha256}"
        self._made = {
            folder: part.written for folder, part in state.retrievers.items() if part.complete
        }
        self.retrievers = list(self._made.values())
        self._caches: list[ResponseCache] = []

    @property
    def problem(self) -> str | None:
        """Why hits are no longer kept on disk; None where they are."""
        return next((cache.problem for cache in self._caches if cache.problem), None)

    def missing(self, retrievers: Iterable[str]) -> list[str]:
        """The parts of these retrievers whose files are not here, or not whole.

        What was built to the end is looked at, without loading a model. UsageError,
        MissingExtraError.
        """
        return [part.written for part in parts_of(retrievers) if not self.has(part)]

    def has(self, part: IndexPart) -> bool:
        """Whether the part was built to the end, and its files are still whole. Errors as above."""
        if part.folder not in self._made:
            return False
        folder, kind = self.path / part.folder, part.kind
        try:
            if kind.check is not None:
                kind.check(folder, self.passages, part.given)
            elif part.given.model is None:
                kind.open(folder, self.passages, part.given).close()
            else:
                return folder.is_dir()
        except (InputError, OSError):
            return False
        return True

    def damaged(self) -> list[str]:
        """The retrievers that were built to the end and whose files are no longer whole.

        Those of packages that are not here are left out.
        """
        found = []
        for folder, written in self._made.items():
            with suppress(UsageError, MissingExtraError):
                found += [
                    p.written for p in parts_of([written]) if p.folder == folder and not self.has(p)
                ]
        return found

    def check(self, written: str) -> None:
        """See that a retriever can be opened. UsageError; InputError: no files for it here."""
        if missing := [p.written for p in parts_of([written]) if p.folder not in self._made]:
            named = " ".join(f"--retriever '{part}'" for part in missing)
            raise InputError(
                f"the index {self.path} holds nothing for {', '.join(missing)}; there is "
                f"{', '.join(self.retrievers) or 'no retriever'}. Add it with: trueground index "
                f"build {self.path} {named}"
            )

    def open(
        self, written: str, *, cache: bool = True, progress: Progress = no_progress
    ) -> OpenedRetriever:
        """A retriever over the passages; with `cache` its hits are kept, query by query.

        What is put together from others is computed anew from the kept hits of its parts.
        UsageError, MissingExtraError; InputError where the index holds no files for it.
        """
        self.check(written)
        with ExitStack() as stack:
            kept = None
            if cache:
                kept = stack.enter_context(ResponseCache(searches_path()))
                self._caches.append(kept)

            def open_base(given: PartSpec) -> OpenedRetriever:
                kind = kind_of(given)
                opened = kind.open(self.path / kind.folder(given), self.passages, given)
                label = given.name if given.model is None else f"{given.name}:{given.model}"
                inner, sha256 = opened.retriever, self.passages.sha256
                wrapped = CachedRetriever(inner, sha256, kept, label=label, progress=progress)
                return OpenedRetriever(wrapped, opened.close)

            made = compose(written, open_base, self.passages)
            stack.callback(made.close)
            return OpenedRetriever(made.retriever, stack.pop_all().close)


class IndexPart(NamedTuple):
    """A part of a retriever that keeps files, and the folder of these."""

    folder: str
    written: str
    kind: RetrieverKind
    given: PartSpec


def parts_of(retrievers: Iterable[str]) -> list[IndexPart]:
    """The parts that keep files, one for each folder. UsageError for what cannot be meant."""
    found: dict[str, IndexPart] = {}
    for retriever in retrievers:
        for written in bases(retriever):
            given = parse_part("retriever", written)
            kind = kind_of(given)
            folder = kind.folder(given)
            found.setdefault(folder, IndexPart(folder, given.written, kind, given))
    return list(found.values())


def open_index(path: Path) -> Index:
    """The index in a folder. InputError: none, not whole, or its corpus has changed since.

    A corpus that is no longer there is no error: the index holds all that is needed.
    """
    check_current(path)
    return Index(path)


def check_current(path: Path) -> IndexFile:
    """What index.json says. InputError: no index, or its corpus has changed since."""
    state = read_index_file(path)
    changed = difference(Path(state.corpus), state.files, reading_of(state.reading))
    if changed is not None:
        raise InputError(
            f"the index {path} is out of date: {changed}. Make it anew with: trueground index "
            f"build {state.corpus} --out {path} --rebuild"
        )
    return state
