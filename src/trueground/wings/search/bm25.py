"""BM25: over texts in memory, and in a folder of an index, searched over all cores."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.errors import InputError, MissingExtraError, UsageError, WorkerError, WriteError
from trueground.execution import WorkerPool, cores
from trueground.options import Progress
from trueground.wings.search.base import TITLED, Hit, OpenedRetriever, RetrieverKind
from trueground.wings.search.bm25_index import (
    BLOCK,
    RANGE,
    Block,
    Found,
    Inverter,
    split_blocks,
    write_index,
)
from trueground.wings.search.bm25_search import Searcher
from trueground.wings.search.search_words import stemmer, words
from trueground.wings.search.store import PassageStore, next_step

_HEADER = "bm25.json"
_MOST_K1 = 1_000  # far beyond, float32 would round scores to 0
# Fewer are done before a process has started.
_WORTH_READERS = 20_000  # passages
_WORTH_SEARCHERS = 2_000  # queries
_TOGETHER = 250  # queries that a process gets at once


class BM25:
    """Exact BM25 over `texts` by the library bm25s; words are compared without case, or stemmed.

    score = Σ over the query's words: log(1 + (N − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·l/m)),
    l the passage's words and m their mean; a word that stands twice in the query counts twice. No
    stop words are left out: their weight is small by itself. A passage that shares no word with
    the query is no hit. The index is built with the first search.
    """

    name = "bm25"

    def __init__(
        self,
        texts: Sequence[str],
        *,
        stem: bool = False,
        k1: float = 1.5,
        b: float = 0.75,
        titled: bool = False,
    ) -> None:
        """`titled`: the texts begin with their titles, which the signature tells.

        UsageError for k1 or b out of range; MissingExtraError where bm25s is not installed."""
        if not (isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise UsageError(f"bm25: k1={k1}, b={b}; expected k1 of 0 or more and b from 0 to 1")
        needs = ("bm25s", "PyStemmer") if stem else ("bm25s",)
        libraries = ",".join(f"{package}-{_installed(package)}" for package in needs)
        self.signature = f"bm25:lucene,k1={k1:g},b={b:g}{TITLED * titled},words-1,{libraries}"
        self._texts, self._stem, self._k1, self._b = texts, stem, k1, b
        self._numbers: dict[str, int] = {}  # of each word's term
        self._index: Any = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order."""
        stem = stemmer(self._stem)
        if self._index is None:
            self._build(stem)
        found = []
        for query in queries:
            terms = [self._numbers[key] for key in map(stem, words(query)) if key in self._numbers]
            scores = self._index.get_scores(terms) if terms and top > 0 else np.empty(0, np.float32)
            found.append(_best_hits(scores, top))
        return found

    def rank(self, queries: Sequence[str], top: int) -> list[list[int]]:
        """Return the indices of at most `top` texts for each query, best first."""
        return [[hit.index for hit in hits] for hits in self.search(queries, top)]

    def _build(self, stem: Callable[[str], str]) -> None:
        import bm25s

        seen: dict[str, int] = {}
        rows: list[array[int]] = []
        for text in self._texts:
            found = words(text)
            for word in found:
                if word not in seen:
                    seen[word] = self._numbers.setdefault(stem(word), len(self._numbers))
            rows.append(array("i", [seen[word] for word in found]))
        if self._numbers:  # else nothing is ever looked up
            self._index = bm25s.BM25(k1=self._k1, b=self._b, method="lucene", dtype="float32")
            rows_and_numbers = (rows, self._numbers)
            self._index.index(rows_and_numbers, create_empty_token=False, show_progress=False)


def _best_hits(scores: NDArray[np.float32], top: int) -> list[Hit]:
    """The `top` highest scores above 0, highest first; equal ones in the order of their index."""
    found = np.flatnonzero(scores)
    if len(found) > top:
        least = np.partition(scores[found], len(found) - top)[len(found) - top]
        found = found[scores[found] >= least]
    found = found[np.argsort(-scores[found], kind="stable")][:top]
    return list(map(Hit, found.tolist(), scores[found].tolist()))


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtraError("retrieval by BM25", "retrieval") from None


class Bm25Options(msgspec.Struct, frozen=True):
    """What fixes the files of an index, besides its passages."""

    stem: bool = True
    k1: float = 1.5
    b: float = 0.75

    @staticmethod
    def parse(given: ComponentSpec) -> Bm25Options:
        """UsageError for an option that is not known or a value that cannot be meant."""
        given.check(("stem", "k1", "b"), model=False)
        default = Bm25Options()
        stem = given.text("stem", "true", ("true", "false")) == "true"
        k1 = given.number("k1", default.k1, 0, _MOST_K1)
        b = given.number("b", default.b, 0, 1)
        assert k1 is not None
        assert b is not None
        return Bm25Options(stem, k1 + 0.0, b + 0.0)

    @property
    def stemmer(self) -> str | None:
        """PyStemmer with its major and minor version: others may cut words differently.

        None without stems. MissingExtraError.
        """
        return (
            f"PyStemmer-{'.'.join(_installed('PyStemmer').split('.')[:2])}" if self.stem else None
        )


class _Header(msgspec.Struct, frozen=True):
    """What an index says of itself: of which passages, with which options."""

    passages_sha256: str
    passages: int
    options: Bm25Options
    stemmer: str | None
    words: str = "words-1"
    scores: str = "bm25-lucene-1"
    layout: str = "layout-2"


def _check_header(folder: Path, passages: PassageStore, options: Bm25Options) -> None:
    """InputError: no index in the folder, or one of other passages or options."""
    again = "delete the folder and build it again"
    try:
        header = msgspec.json.decode((folder / _HEADER).read_bytes(), type=_Header)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{folder} holds no readable bm25 index ({error}); {again}") from error
    ours = _Header(passages.sha256, len(passages), options, options.stemmer)
    for name in header.__struct_fields__:
        found, expected = getattr(header, name), getattr(ours, name)
        if found != expected:
            raise InputError(
                f"{folder} was made with {name} {found}, and {expected} is needed here; {again}"
            )


class BM25OnDisk:
    """BM25 (see `BM25`) over an index in a folder, memory-mapped.

    Hits and scores are those of a search in memory, for any number of processes. Many queries at
    once are shared out among as many processes as there are cores; they stay until `close`.
    """

    name = "bm25"

    def __init__(
        self,
        folder: Path,
        passages: PassageStore,
        options: Bm25Options,
        workers: int | None = None,
    ) -> None:
        """MissingExtraError; InputError where a file of the index is missing or cannot be read."""
        _check_header(folder, passages, options)
        stems = f",english-{options.stemmer}" if options.stem else ""
        self.signature = (
            f"bm25:lucene,k1={options.k1!r},b={options.b!r}{TITLED},words-1{stems},disk-1"
        )
        self._folder, self._workers = folder, workers
        self._values = (folder, len(passages), options.stem)
        self._pool: _Workers | None = None
        try:
            self._searcher: Searcher | None = Searcher(*self._values)
        except (OSError, ValueError, EOFError) as error:  # a cut-off array is one of these
            raise self._damaged(error) from error

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        WorkerError where a process could not start or is gone. InputError: a damaged index.
        """
        if self._searcher is None:
            raise UsageError("this bm25 index was closed; open it again")
        workers = self._workers or (cores() if len(queries) >= _WORTH_SEARCHERS else 1)
        left = iter(queries)
        parts = ((part, top) for part in iter(lambda: list(islice(left, _TOGETHER)), []))
        found: Iterable[list[Found]]
        try:
            if workers == 1:
                found = map(self._searcher, parts)
            else:
                self._pool = self._pool or _Workers(workers, Searcher, self._values, "search")
                found = self._pool.map(parts)
            return [
                list(map(Hit, passages.tolist(), scores.tolist()))
                for part in found
                for passages, scores in part
            ]
        except (IndexError, ValueError) as error:  # numbers that lead nowhere
            raise self._damaged(error) from error
        except WorkerError:
            self._pool = None
            raise

    def close(self) -> None:
        """End the processes and let the files go."""
        self._searcher = None
        if self._pool is not None:
            self._pool.close()

    def _damaged(self, error: Exception) -> InputError:
        return InputError(
            f"{self._folder}: the bm25 index cannot be read ({error}); delete the folder and build "
            "it again"
        )


def build_bm25(
    folder: Path,
    passages: PassageStore,
    options: Bm25Options,
    progress: Progress,
    *,
    workers: int | None = None,
    block: int = BLOCK,
    span: int = RANGE,
) -> None:
    """Write the index, the same bytes for any `workers`, `block` (passages) and `span` (postings).

    It stands in the folder when it is complete. What a build has left that was broken off is
    thrown away. InputError: another index stands there, or passages that cannot be
    read. WriteError, WorkerError, MissingExtraError.
    """
    header = _Header(passages.sha256, len(passages), options, options.stemmer)
    if folder.exists():
        _check_header(folder, passages, options)
        return
    if workers is None:
        workers = cores() if len(passages) >= _WORTH_READERS else 1
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    parts = split_blocks(passages.searched, block)
    with contextlib.ExitStack() as stack:
        if workers == 1:
            blocks: Iterator[Block] = map(Inverter(options.stem), parts)
        else:
            stemmer(options.stem)
            pool = _Workers(workers, Inverter, (options.stem,), "read passages")
            stack.callback(pool.close)
            blocks = pool.map(parts)
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            write_index(
                unfinished,
                blocks,
                len(passages),
                k1=options.k1,
                b=options.b,
                progress=progress,
                span=span,
            )
            (unfinished / _HEADER).write_bytes(msgspec.json.encode(header) + b"\n")
            unfinished.rename(folder)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise WriteError(
                f"{folder}: the bm25 index could not be written ({error.strerror or error}); "
                f"{next_step(error)} or choose another place, and build it again"
            ) from error


class _Workers:
    """Processes that each hold what `make(*values)` gives, and call it."""

    def __init__(
        self, count: int, make: Callable[..., Any], values: tuple[Any, ...], work: str
    ) -> None:
        self._count, self._work = count, work
        self._pool = WorkerPool(count, _start, make, values)

    def map(self, parts: Iterable[Any]) -> Iterator[Any]:
        """What comes of the parts, in their order. WorkerError: a process is gone."""
        waiting: deque[Future[Any]] = deque()
        try:
            for part in parts:
                waiting.append(self._pool.submit(_call, part))
                if len(waiting) > 2 * self._count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise WorkerError(
                f"a process to {self._work} for bm25 could not start or was killed. In a script, "
                'call this under if __name__ == "__main__":, or set OMP_NUM_THREADS=1, which works '
                "in one process"
            ) from None

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


_worker: Callable[[Any], Any]


def _start(make: Callable[..., Any], values: tuple[Any, ...]) -> None:
    """Build what this process calls."""
    global _worker
    _worker = make(*values)


def _call(part: Any) -> Any:
    return _worker(part)


def _folder(given: ComponentSpec) -> str:
    options = Bm25Options.parse(given)
    if options == Bm25Options():
        return "bm25"
    return f"bm25-{hashlib.sha256(msgspec.json.encode(options)).hexdigest()[:8]}"


def _open(folder: Path, passages: PassageStore, given: ComponentSpec) -> OpenedRetriever:
    retriever = BM25OnDisk(folder, passages, Bm25Options.parse(given))
    return OpenedRetriever(retriever, retriever.close)


def _over(given: ComponentSpec, passages: PassageStore) -> OpenedRetriever:
    options = msgspec.structs.asdict(Bm25Options.parse(given))
    return OpenedRetriever(BM25(passages.searched, titled=True, **options))


def _build(folder: Path, passages: PassageStore, given: ComponentSpec, progress: Progress) -> None:
    build_bm25(folder, passages, Bm25Options.parse(given), progress)


BM25_KIND = RetrieverKind(_folder, _build, _open, over=_over)
