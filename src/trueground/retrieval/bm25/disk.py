"""BM25 in a folder: built once, opened memory-mapped, searched over all cores."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import shutil
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from threading import Lock

import msgspec

from trueground.encoders.tiles import cores
from trueground.errors import InputError, UsageError, WorkerError, WriteError
from trueground.options import Progress
from trueground.plugins import PartSpec
from trueground.retrieval.base import Hit, OpenedRetriever, Passages, RetrieverKind
from trueground.retrieval.bm25.about import (
    ABOUT,
    Bm25Header,
    Options,
    check_about,
    options_of,
    stemmer_here,
)
from trueground.retrieval.bm25.blocks import BLOCK, blocks
from trueground.retrieval.bm25.build import RANGE, write_index
from trueground.retrieval.bm25.memory import TITLED
from trueground.retrieval.bm25.search import Found, Searcher
from trueground.retrieval.writing import step

# Fewer are done before a process has started.
_WORTH_READERS = 20_000  # passages
_WORTH_SEARCHERS = 2_000  # queries
_TOGETHER = 250  # queries that a process gets at once


class BM25OnDisk:
    """BM25 (see `memory.BM25`) over an index in a folder, memory-mapped.

    Hits and scores are those of a search in memory, for any number of processes. Many queries at
    once are shared out among as many processes as there are cores; they stay until `close`.
    """

    name = "bm25"

    def __init__(self, folder: Path, about: Bm25Header, workers: int | None = None) -> None:
        """MissingExtraError; InputError where a file of the index is missing or cannot be read."""
        options = about.options
        stems = f",english-{about.stemmer}" if about.stemmer else ""
        self.signature = (
            f"bm25:lucene,k1={options.k1!r},b={options.b!r}{TITLED},{about.words}{stems},disk-1"
        )
        self._made_from = (folder, about.passages, options.stem)
        self._workers = workers
        self._starting = Lock()
        self._pool: ProcessPoolExecutor | None = None
        try:
            self._searcher: Searcher | None = Searcher(*self._made_from)
        except (OSError, ValueError, EOFError) as error:  # a cut-off array is one of these
            raise _damaged(folder, error) from error

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        WorkerError where a process could not start or is gone. InputError: a damaged index.
        """
        if self._searcher is None:
            raise UsageError("this bm25 index was closed; open it again")
        workers = self._workers
        if workers is None:
            workers = cores() if len(queries) >= _WORTH_SEARCHERS else 1
        try:
            if workers == 1:
                return [_hits(found) for found in self._searcher.search(queries, top)]
            return self._shared_out(queries, top, workers)
        except (IndexError, ValueError) as error:  # numbers that lead nowhere
            raise _damaged(self._made_from[0], error) from error

    def close(self) -> None:
        """End the processes and let the files go."""
        self._searcher = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _shared_out(self, queries: Sequence[str], top: int, workers: int) -> list[list[Hit]]:
        with self._starting:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(
                    workers, context, initializer=_start, initargs=self._made_from
                )
            pool = self._pool
        left = iter(queries)
        parts = list(iter(lambda: list(islice(left, _TOGETHER)), []))
        try:
            found = pool.map(_work, parts, [top] * len(parts))
            return [_hits(one) for part in found for one in part]
        except BrokenProcessPool:
            self._pool = None
            raise WorkerError(
                "a process that searches with bm25 could not start or was killed. In a script, "
                'search under if __name__ == "__main__":, or set OMP_NUM_THREADS=1, which searches '
                "in one process"
            ) from None


def _damaged(folder: Path, error: Exception) -> InputError:
    return InputError(
        f"{folder}: the bm25 index cannot be read ({error}); delete the folder and build it again"
    )


def _hits(found: Found) -> list[Hit]:
    return list(map(Hit, found[0].tolist(), found[1].tolist()))


_searcher: Searcher | None = None


def _start(folder: Path, passages: int, stem: bool) -> None:
    """Ctrl-C is the parent's to handle."""
    global _searcher
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    _searcher = Searcher(folder, passages, stem)


def _work(queries: list[str], top: int) -> list[Found]:
    if _searcher is None:
        raise RuntimeError("worker was not started")
    return _searcher.search(queries, top)


def _folder(given: PartSpec) -> str:
    options = options_of(given)
    if options == Options():
        return "bm25"
    return f"bm25-{hashlib.sha256(msgspec.json.encode(options)).hexdigest()[:8]}"


def _build(folder: Path, passages: Passages, given: PartSpec, progress: Progress) -> None:
    build_bm25(folder, passages, options_of(given), progress)


def build_bm25(
    folder: Path,
    passages: Passages,
    options: Options,
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
    stemmer = stemmer_here() if options.stem else None
    if folder.exists():
        check_about(folder, passages, options)
        return
    total = len(passages)
    if workers is None:
        workers = cores() if total >= _WORTH_READERS else 1
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        made = blocks(_readable(passages.searched), options.stem, workers, block)
        with contextlib.closing(made):
            written = write_index(
                unfinished, made, total, k1=options.k1, b=options.b, progress=progress, span=span
            )
        about = Bm25Header(passages.sha256, *written, options, stemmer)
        (unfinished / ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise WriteError(
            f"{folder}: the bm25 index could not be written ({error.strerror or error}); "
            f"{step(error)} or choose another place, and build it again"
        ) from error


def _readable(texts: Iterable[str]) -> Iterator[str]:
    """The texts. InputError where they cannot be read, which is no trouble of the index."""
    try:
        yield from texts
    except OSError as error:
        raise InputError(
            f"the passages for bm25 cannot be read: {error.strerror or error}; fix that, and "
            "build again: nothing of it is kept"
        ) from error


def _open(folder: Path, passages: Passages, given: PartSpec) -> OpenedRetriever:
    options = options_of(given)
    retriever = BM25OnDisk(folder, check_about(folder, passages, options))
    return OpenedRetriever(retriever, retriever.close)


BM25_KIND = RetrieverKind(_folder, _build, _open)
