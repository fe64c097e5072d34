"""An index that is there: passages and the files of retrievers over them, in one folder.

passages.sqlite   the passages
index.json        what they were made from, and which retrievers are complete
retrievers/…/     one folder for each retriever that keeps files
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from trueground._version import __version__
from trueground.errors import InputError, MissingExtraError, UsageError, WriteError
from trueground.net.cache import ResponseCache, searches_path
from trueground.net.files import is_state, write_state
from trueground.options import Progress, no_progress
from trueground.plugins import PartSpec, parse_part
from trueground.retrieval.base import OpenedRetriever, RetrieverKind
from trueground.retrieval.cached import CachedRetriever
from trueground.retrieval.kinds import bases, compose, kind_of
from trueground.retrieval.store import PassageStore, TornError, next_step

INDEX, PASSAGES, RETRIEVERS = "index.json", "passages.sqlite", "retrievers"
FORMAT = 2


class SourceFile(msgspec.Struct, frozen=True):
    """A file of a corpus: its path below that (its name, where it is the corpus), and content."""

    path: str
    bytes: int
    mtime_ns: int
    sha256: str


class IndexFile(msgspec.Struct, kw_only=True):
    """index.json: written when the passages are complete.

    `corpus` is an absolute path; `reading` is the signature of how documents were read, `passages`
    the SHA-256 of all passages. `retrievers`: folder → the retriever as it was written, of those
    that are complete.
    """

    trueground_index: int = FORMAT
    trueground: str = __version__
    corpus: str
    files: list[SourceFile]
    reading: str
    passages: str
    retrievers: dict[str, str] = {}

    def write(self, folder: Path) -> None:
        """Replace the file in one step. WriteError."""
        path = folder / INDEX
        try:
            write_state(path, self)
        except OSError as error:
            raise WriteError(
                f"writing {path} failed: {error.strerror or error}; {next_step(error)}, then run "
                "again: what is finished stays"
            ) from error


def is_index(path: Path) -> bool:
    """Whether the folder is an index, of whatever version."""
    return is_state(path / INDEX, "trueground_index")


def read_index_file(folder: Path) -> IndexFile:
    """InputError: no index, or one of another version."""
    path = folder / INDEX
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder} is no index: {INDEX}: {error.strerror or error}. Make one with: trueground "
            "index build CORPUS --out INDEX"
        ) from error
    try:
        version = msgspec.json.decode(content, type=_IndexVersion).trueground_index
        if version != FORMAT:
            raise InputError(
                f"{path}: found an index of format {version}; this trueground reads format "
                f"{FORMAT}. Delete {folder} and build it again"
            )
        return msgspec.json.decode(content, type=IndexFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}; delete {folder} and build it again"
        ) from error


class _IndexVersion(msgspec.Struct):
    trueground_index: int


class IndexPart(NamedTuple):
    """A part of a retriever that keeps files, and the folder of these within an index."""

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
            folder = f"{RETRIEVERS}/{kind.folder(given)}"
            found.setdefault(folder, IndexPart(folder, given.written, kind, given))
    return list(found.values())


class Index:
    """A folder of passages that can be searched.

    `signature` stands for the passages, wherever the index lies. `retrievers` are those that were
    built to the end, as they were written when they were added.
    """

    def __init__(self, path: Path) -> None:
        """InputError: no index, passages that are not whole."""
        self.path = path
        state = read_index_file(path)
        again = f"make them anew from the corpus with: trueground index build {path}"
        try:
            self.passages = PassageStore(path / PASSAGES)
        except TornError as error:
            raise InputError(
                f"the index {path} cannot be used: {str(error).rpartition('; ')[0]}; {again}"
            ) from error
        if self.passages.sha256 != state.passages:
            raise InputError(
                f"{path / PASSAGES} holds other passages than {path} was made with; {again}"
            )
        self.signature = f"passages:{self.passages.sha256}"
        self._complete = state.retrievers
        self.retrievers = list(state.retrievers.values())
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
        if part.folder not in self._complete:
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
        for folder, written in self._complete.items():
            with suppress(UsageError, MissingExtraError):
                found += [
                    p.written for p in parts_of([written]) if p.folder == folder and not self.has(p)
                ]
        return found

    def check(self, written: str) -> None:
        """See that a retriever can be opened. UsageError; InputError: no files for it here."""
        if missing := [p.written for p in parts_of([written]) if p.folder not in self._complete]:
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
            hits = None
            if cache:
                hits = stack.enter_context(ResponseCache(searches_path()))
                self._caches.append(hits)

            def open_base(given: PartSpec) -> OpenedRetriever:
                [part] = parts_of([given.written])
                opened = part.kind.open(self.path / part.folder, self.passages, given)
                label = given.name if given.model is None else f"{given.name}:{given.model}"
                cached = CachedRetriever(
                    opened.retriever, self.passages.sha256, hits, label=label, progress=progress
                )
                return OpenedRetriever(cached, opened.close)

            opened = compose(written, open_base, self.passages)
            stack.callback(opened.close)
            return OpenedRetriever(opened.retriever, stack.pop_all().close)
