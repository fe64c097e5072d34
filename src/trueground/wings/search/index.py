"""An index that is there: passages and the files of retrievers over them, in one folder.

passages.sqlite   the passages
index.json        what they were made from, and which retrievers are complete
retrievers/…/     one folder for each retriever that keeps files

Results of searches that were made once are kept on disk across runs, query by query: found by the
passages' hash, the retriever's signature and the query. A result for a larger `top` serves a
smaller one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from trueground._version import __version__
from trueground.components import ComponentSpec
from trueground.errors import InputError, MissingExtraError, ProtocolError, UsageError, WriteError
from trueground.files import StateFile
from trueground.net import ResponseCache
from trueground.options import Progress, do_nothing
from trueground.wings.search.base import Hit, OpenedRetriever, Retriever, RetrieverKind, turns_of
from trueground.wings.search.kinds import bases, compose, kind_of
from trueground.wings.search.store import PassageStore, TornError, next_step

# Part of every key: a change of what is kept must not meet older entries.
_VERSION = "1"
# Queries that are asked at once: what is finished is kept if the next batch fails.
_BATCH = 4_096
_HIT = np.dtype([("index", "<i8"), ("score", "<f8")])
_TOP = np.dtype("<i8")


class CachedRetriever:
    """A retriever that searches for a query once; `cache` None keeps nothing on disk.

    Queries are asked in batches, equal ones once. The scores come back exactly. If the file fails
    midway, the work goes on without it and `cache.problem` says why.
    """

    def __init__(
        self,
        inner: Retriever,
        passages: str,
        cache: ResponseCache | None,
        *,
        label: str = "",
        progress: Progress = do_nothing,
    ) -> None:
        """`passages` is their hash; `label` is what `trueground cache stats` calls the retriever.

        `progress` gets "search", the queries done and their number, of each call that searches.
        """
        self.name, self.signature = inner.name, inner.signature
        self._inner, self._cache = inner, cache
        self._label, self._progress = label or inner.name, progress
        self._nested: bool = getattr(inner, "nested", True)
        self._start = hashlib.sha256(f"{_VERSION}\0{passages}\0{inner.signature}\0".encode())

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the retriever gives another number of lists than there are queries.
        """
        if top < 1:
            return [[] for _ in queries]
        wanted = {turns_of(query): query for query in reversed(queries)}
        found: dict[tuple[str, ...], list[Hit]] = {}
        for turns in wanted:
            if (hits := self._get(turns, top)) is not None:
                found[turns] = hits
        missing = [turns for turns in dict.fromkeys(map(turns_of, queries)) if turns not in found]
        # Batches of one size: some retrievers use all cores for large ones only.
        batches = -(-len(missing) // _BATCH)
        size = -(-len(missing) // batches) if batches else 1
        for start in range(0, len(missing), size):
            self._progress("search", start, len(missing))
            batch = missing[start : start + size]
            lists = self._inner.search([wanted[turns] for turns in batch], top)
            if len(lists) != len(batch):
                raise ProtocolError(
                    f"the retriever {self.name!r} gave {len(lists)} lists of hits for {len(batch)} "
                    "queries; expected one for each: fix the package that it comes from"
                )
            for turns, hits in zip(batch, lists, strict=True):
                found[turns] = hits
                self._put(turns, top, hits)
        if missing:
            self._progress("search", len(missing), len(missing))
        return [found[turns_of(query)] for query in queries]

    def _key(self, turns: Sequence[str], top: int) -> str:
        digest = self._start.copy()
        # Where a smaller top gives other hits, each top has results of its own.
        digest.update(b"all\0" if self._nested else b"%d\0" % top)
        digest.update("\0".join(turns).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _get(self, turns: Sequence[str], top: int) -> list[Hit] | None:
        """The hits; None where none are kept, or too few, or what is no such entry."""
        value = None if self._cache is None else self._cache.get(self._key(turns, top))
        size = _TOP.itemsize
        if value is None or len(value) < size or (len(value) - size) % _HIT.itemsize:
            return None
        hits = np.frombuffer(value, _HIT, offset=size)
        asked = int(np.frombuffer(value, _TOP, 1)[0])
        # A search that found fewer than it might have has found all that there is.
        if top > asked and len(hits) >= asked:
            return None
        pairs = zip(hits["index"].tolist(), hits["score"].tolist(), strict=True)
        return [Hit(index, score) for index, score in pairs][:top]

    def _put(self, turns: Sequence[str], top: int, hits: Sequence[Hit]) -> None:
        if self._cache is not None:
            value = np.int64(top).astype(_TOP).tobytes() + np.array(hits, _HIT).tobytes()
            self._cache.put(self._key(turns, top), value, model=self._label)


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
            StateFile(path).write(self)
        except OSError as error:
            raise WriteError(
                f"writing {path} failed: {error.strerror or error}; {next_step(error)}, then run "
                "again: what is finished stays"
            ) from error


def is_index(path: Path) -> bool:
    """Whether the folder is an index, of whatever version."""
    return StateFile(path / INDEX).has("trueground_index")


def read_index_file(folder: Path) -> IndexFile:
    """InputError: no index, or one of another version."""
    try:
        return StateFile(folder / INDEX).read(IndexFile, "trueground_index", FORMAT)
    except OSError as error:
        raise InputError(
            f"{folder} is no index: {INDEX}: {error.strerror or error}. Make one with: trueground "
            "index build CORPUS --out INDEX"
        ) from error
    except ValueError as error:
        raise InputError(
            f"{folder / INDEX} cannot be read: {error}; delete {folder} and build it again"
        ) from error


class IndexPart(NamedTuple):
    """A part of a retriever that keeps files, and the folder of these within an index."""

    folder: str
    written: str
    kind: RetrieverKind
    given: ComponentSpec


def parts_of(retrievers: Iterable[str]) -> list[IndexPart]:
    """The parts that keep files, one for each folder. UsageError for what cannot be meant."""
    found: dict[str, IndexPart] = {}
    for retriever in retrievers:
        for written in bases(retriever):
            given = ComponentSpec.parse("retriever", written)
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
        self, written: str, *, cache: bool = True, progress: Progress = do_nothing
    ) -> OpenedRetriever:
        """A retriever over the passages; with `cache` its hits are kept, query by query.

        What is put together from others is computed anew from the kept hits of its parts.
        UsageError, MissingExtraError; InputError where the index holds no files for it.
        """
        self.check(written)
        with ExitStack() as stack:
            hits = None
            if cache:
                hits = stack.enter_context(ResponseCache.open("searches"))
                self._caches.append(hits)

            def open_base(given: ComponentSpec) -> OpenedRetriever:
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
