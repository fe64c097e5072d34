"""BM25 over texts in memory, or in the folder of an index, searched on all cores."""

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
    Inverter,
    ScoredPassages,
    split_blocks,
    write_index,
)
from trueground.wings.search.bm25_search import Searcher
from trueground.wings.search.search_words import stemmer, words
from trueground.wings.search.store import PassageStore, next_step

_HEADER = "bm25.json"
_MAX_K1 = 1_000  # With much larger values, float32 rounds scores to 0.
# Fewer passages or queries are finished before a process has started.
_MIN_PASSAGES_FOR_WORKERS = 20_000
_MIN_QUERIES_FOR_WORKERS = 2_000
_QUERIES_PER_TASK = 250


class BM25:
    """Exact BM25 over texts in memory, by the library bm25s.

    score = Σ over the query's words: log(1 + (N − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·l/m)),
    where l is the number of words of the passage and m their mean. A word that the query has twice
    counts twice. Stop words stay, because their weight is small anyway. A passage without a word
    of the query isn't a hit. The first search builds the index.
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
        """Set the options of BM25.

        Args:
            texts: The texts to search.
            stem: Compare the English stems of words.
            k1: The saturation of term frequencies, 0 or more.
            b: The weight of text length, from 0 to 1.
            titled: Whether the texts start with their titles, for the signature.

        Raises:
            UsageError: k1 or b is out of range.
            MissingExtraError: An optional package is missing.
        """
        if not (isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise UsageError(f"bm25: k1={k1}, b={b}; expected k1 of 0 or more and b from 0 to 1")
        packages = ("bm25s", "PyStemmer") if stem else ("bm25s",)
        libraries = ",".join(f"{package}-{_installed(package)}" for package in packages)
        searched = TITLED if titled else ""
        self.signature = f"bm25:lucene,k1={k1:g},b={b:g}{searched},words-1,{libraries}"
        self._texts, self._stem, self._k1, self._b = texts, stem, k1, b
        self._term_numbers: dict[str, int] = {}
        self._index: Any = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in corpus order."""
        stem = stemmer(self._stem)
        if self._index is None:
            self._build(stem)
        numbers = self._term_numbers
        results = []
        for query in queries:
            terms = [numbers[term] for term in map(stem, words(query)) if term in numbers]
            scores = self._index.get_scores(terms) if terms and top > 0 else np.empty(0, np.float32)
            results.append(_best_hits(scores, top))
        return results

    def rank(self, queries: Sequence[str], top: int) -> list[list[int]]:
        """Return the indices of at most `top` texts for each query, best first."""
        return [[hit.index for hit in hits] for hits in self.search(queries, top)]

    def _build(self, stem: Callable[[str], str]) -> None:
        import bm25s

        word_numbers: dict[str, int] = {}
        rows: list[array[int]] = []
        for text in self._texts:
            split = words(text)
            for word in split:
                if word not in word_numbers:
                    number = self._term_numbers.setdefault(stem(word), len(self._term_numbers))
                    word_numbers[word] = number
            rows.append(array("i", [word_numbers[word] for word in split]))
        if self._term_numbers:  # Without terms, `search` never uses the index.
            self._index = bm25s.BM25(k1=self._k1, b=self._b, method="lucene", dtype="float32")
            rows_and_numbers = (rows, self._term_numbers)
            self._index.index(rows_and_numbers, create_empty_token=False, show_progress=False)


def _best_hits(scores: NDArray[np.float32], top: int) -> list[Hit]:
    """Return the `top` highest scores above 0, best first; equal scores in order of index."""
    indices = np.flatnonzero(scores)
    if len(indices) > top:
        lowest = np.partition(scores[indices], len(indices) - top)[len(indices) - top]
        indices = indices[scores[indices] >= lowest]
    indices = indices[np.argsort(-scores[indices], kind="stable")][:top]
    return list(map(Hit, indices.tolist(), scores[indices].tolist()))


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtraError("retrieval by BM25", "retrieval") from None


class Bm25Options(msgspec.Struct, frozen=True):
    """The options that determine the files of an index."""

    stem: bool = True
    k1: float = 1.5
    b: float = 0.75

    @staticmethod
    def parse(spec: ComponentSpec) -> Bm25Options:
        """Return the options of a spec. Raises UsageError for an unknown option or value."""
        spec.check(("stem", "k1", "b"), model=False)
        default = Bm25Options()
        stem = spec.text("stem", "true", ("true", "false")) == "true"
        k1 = spec.number("k1", default.k1, 0, _MAX_K1)
        b = spec.number("b", default.b, 0, 1)
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
    """The header of an index: its passages and options."""

    passages_sha256: str
    passages: int
    options: Bm25Options
    stemmer: str | None
    words: str = "words-1"
    scores: str = "bm25-lucene-1"
    layout: str = "layout-2"


def _check_header(folder: Path, passages: PassageStore, options: Bm25Options) -> None:
    """Raise InputError if the folder has no index, or one of other passages or options."""
    again = "delete the folder and build it again"
    try:
        header = msgspec.json.decode((folder / _HEADER).read_bytes(), type=_Header)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{folder} has no readable bm25 index ({error}); {again}") from error
    expected_header = _Header(passages.sha256, len(passages), options, options.stemmer)
    for name in header.__struct_fields__:
        actual, expected = getattr(header, name), getattr(expected_header, name)
        if actual != expected:
            raise InputError(f"{folder} was made with {name} {actual}, not {expected}; {again}")


class BM25OnDisk:
    """BM25 (see `BM25`) over a memory-mapped index in a folder.

    Hits and scores are the same as in memory, for any number of processes. Large numbers of
    queries are searched by one process per core. The processes run until `close`.
    """

    name = "bm25"

    def __init__(
        self,
        folder: Path,
        passages: PassageStore,
        options: Bm25Options,
        workers: int | None = None,
    ) -> None:
        """Open the index. Raises InputError if files are damaged, or MissingExtraError."""
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
        except (OSError, ValueError, EOFError) as error:  # A truncated array raises one of these.
            raise self._damaged(error) from error

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in corpus order.

        Raises:
            WorkerError: A process couldn't start, or was killed.
            InputError: The index is damaged.
        """
        if self._searcher is None:
            raise UsageError("this bm25 index was closed; open it again")
        workers = self._workers or (cores() if len(queries) >= _MIN_QUERIES_FOR_WORKERS else 1)
        tasks = (
            (queries[start : start + _QUERIES_PER_TASK], top)
            for start in range(0, len(queries), _QUERIES_PER_TASK)
        )
        task_results: Iterable[list[ScoredPassages]]
        try:
            if workers == 1:
                task_results = map(self._searcher, tasks)
            else:
                self._pool = self._pool or _Workers(workers, Searcher, self._values, "search")
                task_results = self._pool.map(tasks)
            hits: list[list[Hit]] = []
            for task_result in task_results:
                for passages, scores in task_result:
                    hits.append(list(map(Hit, passages.tolist(), scores.tolist())))
            return hits
        except (IndexError, ValueError) as error:  # A damaged file has numbers out of range.
            raise self._damaged(error) from error
        except WorkerError:
            self._pool = None
            raise

    def close(self) -> None:
        """End the processes and close the files."""
        self._searcher = None
        if self._pool is not None:
            self._pool.close()

    def _damaged(self, error: Exception) -> InputError:
        return InputError(
            f"{self._folder}: can't read the bm25 index ({error}); delete the folder and build it "
            "again"
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
    """Write the index into a folder, which appears when the index is complete.

    The files don't depend on `workers`, `block` and `span`. Files of an interrupted build are
    removed.

    Args:
        folder: The folder.
        passages: The passages.
        options: The options of the index.
        progress: Called with the progress of the work.
        workers: The number of processes. Default: one per core, or one for few passages.
        block: The number of passages per block.
        span: The number of postings that are scored at once.

    Raises:
        InputError: The folder has another index, or passages can't be read.
        WriteError: The index can't be written.
        WorkerError: A process couldn't start, or was killed.
        MissingExtraError: An optional package is missing.
    """
    header = _Header(passages.sha256, len(passages), options, options.stemmer)
    if folder.exists():
        _check_header(folder, passages, options)
        return
    if workers is None:
        workers = cores() if len(passages) >= _MIN_PASSAGES_FOR_WORKERS else 1
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
                f"{folder}: can't write the bm25 index ({error.strerror or error}); "
                f"{next_step(error)} or choose another folder, and build it again"
            ) from error


class _Workers:
    """Processes that each call the result of `make(*values)` with their tasks."""

    def __init__(
        self, count: int, make: Callable[..., Any], values: tuple[Any, ...], work: str
    ) -> None:
        self._count, self._work = count, work
        self._pool = WorkerPool(count, _start, make, values)

    def map(self, parts: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of tasks in order. Raises WorkerError if a process was killed."""
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
                f"a process to {self._work} for bm25 couldn't start or was killed. In a script, "
                'call this under if __name__ == "__main__":, or set OMP_NUM_THREADS=1 to use one '
                "process"
            ) from None

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


_worker: Callable[[Any], Any]


def _start(make: Callable[..., Any], values: tuple[Any, ...]) -> None:
    """Make the function that this process calls."""
    global _worker
    _worker = make(*values)


def _call(part: Any) -> Any:
    return _worker(part)


def _folder(spec: ComponentSpec) -> str:
    options = Bm25Options.parse(spec)
    if options == Bm25Options():
        return "bm25"
    return f"bm25-{hashlib.sha256(msgspec.json.encode(options)).hexdigest()[:8]}"


def _open(folder: Path, passages: PassageStore, spec: ComponentSpec) -> OpenedRetriever:
    retriever = BM25OnDisk(folder, passages, Bm25Options.parse(spec))
    return OpenedRetriever(retriever, retriever.close)


def _over(spec: ComponentSpec, passages: PassageStore) -> OpenedRetriever:
    options = msgspec.structs.asdict(Bm25Options.parse(spec))
    return OpenedRetriever(BM25(passages.searched, titled=True, **options))


def _build(folder: Path, passages: PassageStore, spec: ComponentSpec, progress: Progress) -> None:
    build_bm25(folder, passages, Bm25Options.parse(spec), progress)


BM25_KIND = RetrieverKind(_folder, _build, _open, over=_over)
