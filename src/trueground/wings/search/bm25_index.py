"""Writing a BM25 index into a folder, out of core."""

from __future__ import annotations

import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.options import Progress
from trueground.stats import log, sum_counts
from trueground.wings.search.search_words import stemmer, words

# The postings, term by term: the start of each term, the passages, and the scores. The highest
# score of each term. The sorted terms: as text, the end of each line, and their numbers.
STARTS, PASSAGES, SCORES, HIGHEST = "starts.npy", "passages.npy", "scores.npy", "highest.npy"
TERMS, ENDS, NUMBERS = "terms.txt", "terms.ends.npy", "terms.numbers.npy"

BLOCK = 4_096  # Passages per block; at most 65,536, so that their numbers fit two bytes.
RANGE = 8_000_000  # Postings that are merged at once.
_MAX_BLOCK_CHARACTERS = 16_000_000
_MAX_CACHED_WORDS = 1 << 20  # Words whose terms a process keeps.
_POSTINGS_PER_SLICE = 1 << 17  # Postings that are scored at once.
_COLUMNS: dict[str, Any] = {
    "terms": np.int32,
    "counts": np.int32,
    "passages": np.uint16,
    "frequencies": np.int32,
}
Ints = NDArray[np.int32]
ScoredPassages = tuple[Ints, NDArray[np.float32]]  # passages and their scores


class Block(NamedTuple):
    """The inverted index of consecutive passages.

    Attributes:
        maker: The process that made the block.
        first: The number of the first new term; 0 if the process has cleared its terms.
        fresh: The new terms of the process, one per line, numbered from `first`.
        lengths: The number of words of each passage.
        terms: The terms of the block, by their numbers in the process.
        counts: The number of passages with each term.
        passages: For each term in turn, the passages with it, by their numbers in the block.
        frequencies: The frequency of the term in each of these passages.
    """

    maker: int
    first: int
    fresh: str
    lengths: Ints
    terms: Ints
    counts: Ints
    passages: NDArray[np.uint16]
    frequencies: Ints


class Inverter:
    """A function that inverts texts into blocks, by words or by their English stems."""

    def __init__(self, stem: bool) -> None:
        """Choose words or stems. Raises MissingExtraError if PyStemmer isn't installed."""
        self._key = stemmer(stem)
        self._numbers = _WordNumbers(self._key)

    def __call__(self, texts: list[str]) -> Block:
        if len(self._numbers) > _MAX_CACHED_WORDS:
            self._numbers = _WordNumbers(self._key)
        numbers = self._numbers
        first = len(numbers.terms)
        flat = array("i")
        lengths = np.empty(len(texts), np.int32)
        for i, text in enumerate(texts):
            split = words(text)
            lengths[i] = len(split)
            flat.extend(map(numbers.__getitem__, split))
        fresh = "\n".join(islice(numbers.terms, first, None))
        # Each pair of term and passage is one number, for fast sorting.
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
        terms = pairs[begins].astype(np.int32)
        return Block(os.getpid(), first, fresh, lengths, terms, counts, passages, frequencies)


class _WordNumbers(dict[str, int]):
    """Word → number of its term, in order of first occurrence."""

    def __init__(self, key: Callable[[str], str]) -> None:
        super().__init__()
        self._key = key
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        self[word] = number = self.terms.setdefault(self._key(word), len(self.terms))
        return number


def split_blocks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield lists of at most `size` texts, fewer if they are long."""
    part, room = list[str](), _MAX_BLOCK_CHARACTERS
    for text in texts:
        part.append(text)
        room -= len(text)
        if len(part) == size or room <= 0:
            yield part
            part, room = [], _MAX_BLOCK_CHARACTERS
    if part:
        yield part


def write_index(
    folder: Path,
    blocks: Iterable[Block],
    total: int,
    *,
    k1: float,
    b: float,
    progress: Progress,
    span: int,
) -> None:
    """Write the files of `blocks`, with `total` passages, into an empty folder. OSError."""
    parts_folder = folder / "parts"
    parts_folder.mkdir()
    parts = _PostingFiles(parts_folder, blocks, total, progress)
    ordered = sorted(parts.vocabulary)
    text = "".join(f"{term}\n" for term in ordered).encode()
    (folder / TERMS).write_bytes(text or b"\n")
    np.save(folder / ENDS, np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")))
    numbers = map(parts.vocabulary.__getitem__, ordered)
    np.save(folder / NUMBERS, np.fromiter(numbers, np.int32, len(ordered)))
    parts.vocabulary.clear()
    del ordered, text
    np.save(folder / STARTS, parts.starts)
    _write_scores(folder, parts, k1, b, span, progress)
    shutil.rmtree(parts_folder)


class _PostingFiles:
    """The first pass: the postings of a corpus, block after block, in files of a folder.

    Attributes:
        vocabulary: The number of each term, in order of first occurrence.
        lengths: The number of words of each passage.
        starts: The start of each term's postings, and the end of the last.
    """

    def __init__(
        self, folder: Path, blocks: Iterable[Block], total: int, progress: Progress
    ) -> None:
        """Write the files. OSError."""
        self._folder = folder
        self._sizes: list[tuple[int, int]] = []  # The numbers of passages and terms per block.
        self.vocabulary: dict[str, int] = {}
        numbers_of_maker: dict[int, Ints] = {}  # The vocabulary's numbers of a process's terms.
        lengths = [np.empty(0, np.int32)]
        done = 0
        with ExitStack() as stack:
            files = [stack.enter_context((folder / name).open("wb")) for name in _COLUMNS]
            for block in blocks:
                columns = self._columns(block, numbers_of_maker)
                for file, column in zip(files, columns, strict=True):
                    file.write(column.tobytes())
                lengths.append(block.lengths)
                self._sizes.append((len(block.lengths), len(block.counts)))
                done += len(block.lengths)
                progress("bm25: words", done, total)
        self.lengths = np.concatenate(lengths)
        totals = np.zeros(len(self.vocabulary), np.int64)
        for numbers, counts in self._heads():
            totals[numbers] += counts
        self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(totals)])

    def _columns(self, block: Block, numbers_of_maker: dict[int, Ints]) -> tuple[NDArray[Any], ...]:
        """Return terms, counts, passages and frequencies, sorted by the vocabulary's numbers."""
        vocabulary = self.vocabulary
        names = block.fresh.split("\n") if block.fresh else []
        numbers = (vocabulary.setdefault(name, len(vocabulary)) for name in names)
        fresh = np.fromiter(numbers, np.int32, len(names))
        earlier = numbers_of_maker.get(block.maker, fresh)[: block.first]
        term_numbers = np.concatenate([earlier, fresh])
        numbers_of_maker[block.maker] = term_numbers
        terms = term_numbers[block.terms]
        order = np.argsort(terms)
        counts = block.counts[order]
        starts = (np.cumsum(block.counts, dtype=np.int64) - block.counts)[order]
        at = np.repeat(starts - (np.cumsum(counts, dtype=np.int64) - counts), counts)
        at += np.arange(len(at))
        return terms[order], counts, block.passages[at], block.frequencies[at]

    def _heads(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield (terms, counts) of each block."""
        with (
            (self._folder / "terms").open("rb") as terms,
            (self._folder / "counts").open("rb") as counts,
        ):
            for _, size in self._sizes:
                yield np.fromfile(terms, np.int32, size), np.fromfile(counts, np.int32, size)

    def ranges(self, cuts: list[int]) -> Iterator[tuple[Ints, Ints]]:
        """Yield (passages, frequencies) between two cuts, sorted by term and passage."""
        # The numbers of terms and postings before each cut in each block.
        offsets = np.empty((len(self._sizes), len(cuts), 2), np.int64)
        before = np.zeros(2, np.int64)
        for block, (terms, counts) in enumerate(self._heads()):
            ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            at = np.searchsorted(terms, cuts)
            offsets[block] = before + np.stack([at, ends[at]], axis=1)
            before += (len(terms), ends[-1])
        with ExitStack() as stack:
            opened = ((name, (self._folder / name).open("rb")) for name in _COLUMNS)
            files = {name: stack.enter_context(file) for name, file in opened}

            def read(name: str, low: np.int64, high: np.int64) -> NDArray[Any]:
                kind = np.dtype(_COLUMNS[name])
                files[name].seek(int(low) * kind.itemsize)
                return np.fromfile(files[name], kind, int(high - low))

            for number, (low, high) in enumerate(pairwise(cuts)):
                free = self.starts[low:high] - self.starts[low]
                passages = np.empty(self.starts[high] - self.starts[low], np.int32)
                frequencies = np.empty(len(passages), np.int32)
                base = 0
                for (size, _), ((term, posting), (last_term, last_posting)) in zip(
                    self._sizes, offsets[:, number : number + 2], strict=True
                ):
                    if term < last_term:
                        terms = read("terms", term, last_term) - low
                        counts = read("counts", term, last_term)
                        at = np.repeat(free[terms] - (np.cumsum(counts) - counts), counts)
                        at += np.arange(len(at))
                        block_passages = read("passages", posting, last_posting)
                        passages[at] = block_passages.astype(np.int32) + base
                        frequencies[at] = read("frequencies", posting, last_posting)
                        free[terms] += counts
                    base += size
                yield passages, frequencies


def _write_scores(
    folder: Path, parts: _PostingFiles, k1: float, b: float, span: int, progress: Progress
) -> None:
    """Write passages and scores by term, and each term's highest score: the second pass.

    log(1 + (n − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·l/m)), computed in float64 and stored
    as float32. The order of the steps is that of the library bm25s, so the last bits are equal.
    """
    starts, lengths = parts.starts, parts.lengths
    mean = sum_counts(lengths) / max(len(lengths), 1)
    norms = k1 * ((1 - b) + b * lengths.astype(np.float64) / max(mean, 1e-9))
    in_passages, n = np.diff(starts), len(lengths)
    values, which = np.unique(in_passages, return_inverse=True)
    ratios = 1 + (n - values + 0.5) / (values + 0.5)
    weights = np.array([log(ratio) for ratio in ratios.tolist()], np.float32)[which]
    highest = np.zeros(len(weights), np.float32)
    # Between two cuts there are at most `span` postings, or a single term.
    cuts, total = [0], int(starts[-1])
    while cuts[-1] < len(starts) - 1:
        high = int(np.searchsorted(starts, starts[cuts[-1]] + span, side="right")) - 1
        cuts.append(max(cuts[-1] + 1, high))
    with (
        (folder / SCORES).open("wb") as scores_file,
        (folder / PASSAGES).open("wb") as passages_file,
    ):
        _begin_array(scores_file, "<f4", total)
        _begin_array(passages_file, "<i4", total)
        for (low, high), (passages, frequencies) in zip(
            pairwise(cuts), parts.ranges(cuts), strict=True
        ):
            scores = np.repeat(weights[low:high], in_passages[low:high])
            for at in range(0, len(scores), _POSTINGS_PER_SLICE):
                part = slice(at, at + _POSTINGS_PER_SLICE)
                tf = frequencies[part].astype(np.float64)
                scores[part] *= tf / (norms[passages[part]] + tf)
            highest[low:high] = np.maximum.reduceat(scores, starts[low:high] - starts[low])
            passages_file.write(passages.data)
            scores_file.write(scores.data)
            progress("bm25: scores", int(starts[high]), total)
    np.save(folder / HIGHEST, highest)


def _begin_array(file: BinaryIO, kind: str, length: int) -> None:
    """Write the header of a .npy file."""
    head: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, head)


def map_array(path: Path) -> NDArray[Any]:
    """Map an array of a .npy file."""
    # Each slice of an np.memmap costs microseconds more than one of a plain array.
    return np.asarray(np.load(path, mmap_mode="r"))
