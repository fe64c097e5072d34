"""An existing index: passages and the files of retrievers over them, in one folder.

passages.sqlite   the passages
index.json        the corpus they were made from, and the complete retrievers
retrievers/…/     one folder for each retriever that keeps files

Hits are cached on disk across runs. The key is the hash of the passages, the signature of the
retriever and the query. Hits for a larger `top` also serve a smaller one.
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
from trueground.wings.search.store import CorruptStoreError, PassageStore, next_step

# Part of every key: if the format of entries changes, older entries must not be read.
_VERSION = "1"
# Finished batches stay in the cache if a later one fails.
_QUERIES_PER_BATCH = 4_096
_HIT = np.dtype([("index", "<i8"), ("score", "<f8")])
_TOP = np.dtype("<i8")


class CachedRetriever:
    """A retriever that caches its hits; `cache` None keeps nothing on disk.

    Queries are searched in batches, and equal queries once. Cached scores are exact. If the file
    of the cache fails, the search continues without it, and `cache.problem` gives the reason.
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
        """Wrap a retriever.

        Args:
            inner: The retriever.
            passages: The hash of the passages.
            cache: The cache of hits.
            label: The name of the retriever in `trueground cache stats`.
            progress: Called with "search", the number of finished queries and of all queries.
        """
        self.name, self.signature = inner.name, inner.signature
        self._inner, self._cache = inner, cache
        self._label, self._progress = label or inner.name, progress
        self._nested: bool = getattr(inner, "nested", True)
        self._start = hashlib.sha256(f"{_VERSION}\0{passages}\0{inner.signature}\0".encode())

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in corpus order.

        Raises:
            ProtocolError: The retriever doesn't return one list per query.
        """
        if top < 1:
            return [[] for _ in queries]
        queries_by_turns = {turns_of(query): query for query in reversed(queries)}
        hits_by_turns: dict[tuple[str, ...], list[Hit]] = {}
        for turns in queries_by_turns:
            cached = self._get(turns, top)
            if cached is not None:
                hits_by_turns[turns] = cached
        distinct = dict.fromkeys(map(turns_of, queries))
        missing = [turns for turns in distinct if turns not in hits_by_turns]
        # All batches have the same size: some retrievers use all cores only for large ones.
        batches = -(-len(missing) // _QUERIES_PER_BATCH)
        size = -(-len(missing) // batches) if batches else 1
        for start in range(0, len(missing), size):
            self._progress("search", start, len(missing))
            batch = missing[start : start + size]
            lists = self._inner.search([queries_by_turns[turns] for turns in batch], top)
            if len(lists) != len(batch):
                raise ProtocolError(
                    f"the retriever {self.name!r} returned {len(lists)} lists of hits for "
                    f"{len(batch)} queries; expected one per query. Fix the package that provides "
                    "it"
                )
            for turns, hits in zip(batch, lists, strict=True):
                hits_by_turns[turns] = hits
                self._put(turns, top, hits)
        if missing:
            self._progress("search", len(missing), len(missing))
        return [hits_by_turns[turns_of(query)] for query in queries]

    def _key(self, turns: Sequence[str], top: int) -> str:
        digest = self._start.copy()
        # If a smaller `top` gives other hits, each `top` has separate entries.
        digest.update(b"all\0" if self._nested else b"%d\0" % top)
        digest.update("\0".join(turns).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _get(self, turns: Sequence[str], top: int) -> list[Hit] | None:
        """Return the cached hits; None if there are none, too few, or the entry is damaged."""
        value = None if self._cache is None else self._cache.get(self._key(turns, top))
        size = _TOP.itemsize
        if value is None or len(value) < size or (len(value) - size) % _HIT.itemsize:
            return None
        hits = np.frombuffer(value, _HIT, offset=size)
        cached_top = int(np.frombuffer(value, _TOP, 1)[0])
        # A search with fewer hits than it was allowed has found all of them.
        if top > cached_top and len(hits) >= cached_top:
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
    """A file of a corpus: its path in the folder (or its name, if it is the corpus) and content."""

    path: str
    bytes: int
    mtime_ns: int
    sha256: str


class IndexFile(msgspec.Struct, kw_only=True):
    """The content of index.json, which is written when the passages are complete.

    Attributes:
        trueground_index: The version of the format.
        trueground: The version of the package.
        corpus: The absolute path of the corpus.
        files: The files of the corpus.
        reading: The signature of how documents were read.
        passages: The SHA-256 of all passages.
        retrievers: The complete retrievers: folder → retriever as a user wrote it.
    """

    trueground_index: int = FORMAT
    trueground: str = __version__
    corpus: str
    files: list[SourceFile]
    reading: str
    passages: str
    retrievers: dict[str, str] = {}

    def write(self, folder: Path) -> None:
        """Replace the file atomically. Raises WriteError."""
        path = folder / INDEX
        try:
            StateFile(path).write(self)
        except OSError as error:
            raise WriteError(
                f"can't write {path}: {error.strerror or error}; {next_step(error)}, then run the "
                "command again to resume"
            ) from error


def is_index(path: Path) -> bool:
    """Return whether the folder is an index, of any version."""
    return StateFile(path / INDEX).has("trueground_index")


def read_index_file(folder: Path) -> IndexFile:
    """Return index.json of an index. Raises InputError if it is missing or of another version."""
    try:
        return StateFile(folder / INDEX).read(IndexFile, "trueground_index", FORMAT)
    except OSError as error:
        raise InputError(
            f"{folder} isn't an index: {INDEX}: {error.strerror or error}. Build one with: "
            "trueground index build CORPUS --out INDEX"
        ) from error
    except ValueError as error:
        raise InputError(
            f"can't read {folder / INDEX}: {error}; delete {folder} and build it again"
        ) from error


class IndexPart(NamedTuple):
    """A component of a retriever that keeps files, and its folder in the index."""

    folder: str
    spec_text: str
    kind: RetrieverKind
    spec: ComponentSpec


def parts_of(retrievers: Iterable[str]) -> list[IndexPart]:
    """Return the components that keep files, one per folder. Raises UsageError."""
    parts: dict[str, IndexPart] = {}
    for retriever in retrievers:
        for spec_text in bases(retriever):
            spec = ComponentSpec.parse("retriever", spec_text)
            kind = kind_of(spec)
            folder = f"{RETRIEVERS}/{kind.folder(spec)}"
            parts.setdefault(folder, IndexPart(folder, spec.written, kind, spec))
    return list(parts.values())


class Index:
    """A folder of passages that can be searched.

    Attributes:
        path: The folder.
        passages: The passages.
        signature: Identifies the passages, independent of where the index is.
        retrievers: The complete retrievers, as a user wrote them.
    """

    def __init__(self, path: Path) -> None:
        """Open an index. Raises InputError if it isn't one, or if passages are missing."""
        self.path = path
        state = read_index_file(path)
        command = f"trueground index build {path}"
        try:
            self.passages = PassageStore(path / PASSAGES)
        except CorruptStoreError as error:
            reason = str(error).rpartition("; ")[0]
            raise InputError(
                f"can't use the index {path}: {reason}; rebuild the passages from the corpus with: "
                f"{command}"
            ) from error
        if self.passages.sha256 != state.passages:
            raise InputError(
                f"the passages in {path / PASSAGES} don't belong to {path}; rebuild them from the "
                f"corpus with: {command}"
            )
        self.signature = f"passages:{self.passages.sha256}"
        self._complete = state.retrievers
        self.retrievers = list(state.retrievers.values())
        self._caches: list[ResponseCache] = []

    @property
    def problem(self) -> str | None:
        """The reason why hits are no longer cached; None if they are."""
        return next((cache.problem for cache in self._caches if cache.problem), None)

    def missing(self, retrievers: Iterable[str]) -> list[str]:
        """Return the components of these retrievers whose files are missing or damaged.

        Complete files are checked without loading a model.

        Raises:
            UsageError: A retriever isn't valid.
            MissingExtraError: A retriever needs an optional package.
        """
        return [part.spec_text for part in parts_of(retrievers) if not self.has(part)]

    def has(self, part: IndexPart) -> bool:
        """Return whether the files of a component are complete. Raises as `missing`."""
        if part.folder not in self._complete:
            return False
        folder, kind = self.path / part.folder, part.kind
        try:
            if kind.check is not None:
                kind.check(folder, self.passages, part.spec)
            elif part.spec.model is None:
                kind.open(folder, self.passages, part.spec).close()
            else:
                return folder.is_dir()
        except (InputError, OSError):
            return False
        return True

    def damaged(self) -> list[str]:
        """Return the retrievers that were complete and whose files are damaged now.

        Retrievers of packages that aren't installed are left out.
        """
        damaged: list[str] = []
        for folder, spec_text in self._complete.items():
            with suppress(UsageError, MissingExtraError):
                parts = [part for part in parts_of([spec_text]) if part.folder == folder]
                damaged.extend(part.spec_text for part in parts if not self.has(part))
        return damaged

    def check(self, spec_text: str) -> None:
        """Check that a retriever can be opened.

        Raises:
            UsageError: The retriever isn't valid.
            InputError: The index has no files for it.
        """
        parts = parts_of([spec_text])
        missing = [part.spec_text for part in parts if part.folder not in self._complete]
        if missing:
            options = " ".join(f"--retriever '{text}'" for text in missing)
            raise InputError(
                f"the index {self.path} has no files for {', '.join(missing)}; it has "
                f"{', '.join(self.retrievers) or 'no retriever'}. Build them with: trueground "
                f"index build {self.path} {options}"
            )

    def open(
        self, spec_text: str, *, cache: bool = True, progress: Progress = do_nothing
    ) -> OpenedRetriever:
        """Return a retriever over the passages.

        If a retriever combines others, the cached hits of its components are used.

        Args:
            spec_text: The retriever as a user writes it.
            cache: Whether hits are cached.
            progress: Called with the number of finished queries.

        Raises:
            UsageError: The retriever isn't valid.
            InputError: The index has no files for it.
            MissingExtraError: It needs an optional package.
        """
        self.check(spec_text)
        with ExitStack() as stack:
            hits = None
            if cache:
                hits = stack.enter_context(ResponseCache.open("searches"))
                self._caches.append(hits)

            def open_base(spec: ComponentSpec) -> OpenedRetriever:
                [part] = parts_of([spec.written])
                opened = part.kind.open(self.path / part.folder, self.passages, spec)
                label = spec.name if spec.model is None else f"{spec.name}:{spec.model}"
                cached = CachedRetriever(
                    opened.retriever, self.passages.sha256, hits, label=label, progress=progress
                )
                return OpenedRetriever(cached, opened.close)

            opened = compose(spec_text, open_base, self.passages)
            stack.callback(opened.close)
            return OpenedRetriever(opened.retriever, stack.pop_all().close)
