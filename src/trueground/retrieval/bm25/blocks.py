"""Texts turned into blocks of postings for BM25, in one process or in several."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.errors import MissingExtraError, WorkerError
from trueground.retrieval.bm25.memory import words

BLOCK = 4_096  # passages; at most 65,536, so that their numbers fit two bytes
_CHARACTERS = 16_000_000  # of one block
_KEPT = 1 << 20  # words whose terms a process remembers


class Block(NamedTuple):
    """Some passages after each other, turned inside out.

    `lengths`: words of each passage. `terms`: what words are compared by, each once, by the number
    that `maker` gave it; `fresh` are the terms that it had not met before, one a line, numbered
    from `first` in the order in which they come (0: it has begun anew). `counts`: in how many
    passages each term stands. Then for each term in turn the passages with it, by number in the
    block, and how often it stands there.
    """

    maker: int
    first: int
    fresh: str
    lengths: NDArray[np.int32]
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]
    passages: NDArray[np.uint16]
    frequencies: NDArray[np.int32]


class Inverter:
    """Makes blocks; words are compared as they are, or by their English stems."""

    def __init__(self, stem: bool) -> None:
        """MissingExtraError where stems are wanted and PyStemmer is not installed."""
        self._key = term_of(stem)
        self._numbers = _BlockNumbers(self._key)

    def __call__(self, texts: list[str]) -> Block:
        if len(self._numbers) > _KEPT:
            self._numbers = _BlockNumbers(self._key)
        numbers = self._numbers
        first = len(numbers.terms)
        number = numbers.__getitem__
        flat = array("i")
        lengths = np.empty(len(texts), np.int32)
        for i, text in enumerate(texts):
            found = words(text)
            lengths[i] = len(found)
            flat.extend(map(number, found))
        fresh = "\n".join(islice(numbers.terms, first, None))
        return Block(os.getpid(), first, fresh, lengths, *_postings(flat, lengths))


def blocks(
    texts: Iterable[str], stem: bool, workers: int = 1, size: int = BLOCK
) -> Generator[Block, None, None]:
    """The blocks of the texts in their order, the same for any number of worker processes.

    MissingExtraError; WorkerError where a process could not start or is gone.
    """
    parts = _parts(texts, size)
    if workers == 1:
        yield from map(Inverter(stem), parts)
        return
    term_of(stem)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(stem,))
    waiting: deque[Future[Block]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(_work, part))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise WorkerError(
            "a process that reads passages for bm25 could not start or was killed. In a script, "
            'build the index under if __name__ == "__main__":, or set OMP_NUM_THREADS=1, which '
            "builds it in one process"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _parts(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """At most `size` texts at a time, fewer where they are long."""
    part: list[str] = []
    room = _CHARACTERS
    for text in texts:
        part.append(text)
        room -= len(text)
        if len(part) == size or room <= 0:
            yield part
            part, room = [], _CHARACTERS
    if part:
        yield part


def term_of(stem: bool) -> Callable[[str], str]:
    """What a word is compared by. MissingExtraError."""
    if not stem:
        return str
    try:
        import Stemmer
    except ModuleNotFoundError:
        raise MissingExtraError("retrieval by BM25 with stems", "retrieval") from None
    # Without its own cache: each word is asked for once.
    stemmed: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stemmed


class _BlockNumbers(dict[str, int]):
    """Word → number of its term, in the order in which terms first come."""

    def __init__(self, key: Callable[[str], str]) -> None:
        super().__init__()
        self._key = key
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        self[word] = number = self.terms.setdefault(self._key(word), len(self.terms))
        return number


def _postings(
    flat: array[int], lengths: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
    """(terms, counts, passages, frequencies) of a block, from its words in reading order."""
    bits = max(len(lengths) - 1, 0).bit_length()
    pairs = np.array(flat, np.int64)
    pairs <<= bits
    pairs |= np.repeat(np.arange(len(lengths)), lengths)
    pairs.sort()
    begins = np.flatnonzero(np.diff(pairs, prepend=-1))
    frequencies = np.diff(begins, append=len(pairs)).astype(np.int32)
    pairs = pairs[begins]
    passages = (pairs & ((1 << bits) - 1)).astype(np.uint16)
    pairs >>= bits
    begins = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(begins, append=len(pairs)).astype(np.int32)
    return pairs[begins].astype(np.int32), counts, passages, frequencies


_inverter: Inverter | None = None


def _start(stem: bool) -> None:
    """Ctrl-C is the parent's to handle."""
    global _inverter
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inverter = Inverter(stem)


def _work(texts: list[str]) -> Block:
    if _inverter is None:
        raise RuntimeError("worker was not started")
    return _inverter(texts)
