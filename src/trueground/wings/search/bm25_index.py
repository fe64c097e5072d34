"""Write a BM25 index into a folder, out of core."""

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

# Of each term's postings, one term after the other: where they begin, the passages, the scores; the
# highest score of each term. The terms in the order of their letters: as text, where each line
# ends, and their numbers.
STARTS, PASSAGES, SCORES, HIGHEST = "starts.npy", "passages.npy", "scores.npy", "highest.npy"
TERMS, ENDS, NUMBERS = "terms.txt", "terms.ends.npy", "terms.numbers.npy"

BLOCK = 4_096  # passages; at most 65,536, so that their numbers fit two bytes
RANGE = 8_000_000  # postings that are put together at once
_CHARACTERS = 16_000_000  # of one block
_REMEMBERED = 1 << 20  # words whose terms a process remembers
_SLICE = 1 << 17  # postings that are scored at once
_COLUMNS: dict[str, Any] = {
    "terms": np.int32,
    "counts": np.int32,
    "passages": np.uint16,
    "frequencies": np.int32,
}
Ints = NDArray[np.int32]
Found = tuple[Ints, NDArray[np.float32]]  # passages and their scores


class Block(NamedTuple):
    """Some passages after each other, turned inside out.

    `lengths`: words of each passage. `terms`: what words are compared by, each once, by the number
    that the process `maker` gave it; `fresh` are the terms that it had not met before, one a line,
    numbered from `first` in the order in which they come (0: it has begun anew). `counts`: in how
    many passages each term stands. Then for each term in turn the passages with it, by number in
    the block, and how often it stands there.
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
    """Makes blocks of texts; words are compared as they are, or by their English stems."""

    def __init__(self, stem: bool) -> None:
        """MissingExtraError where stems are wanted and PyStemmer is not installed."""
        self._key = stemmer(stem)
        self._numbers = _WordNumbers(self._key)

    def __call__(self, texts: list[str]) -> Block:
        if len(self._numbers) > _REMEMBERED:
            self._numbers = _WordNumbers(self._key)
        numbers = self._numbers
        first = len(numbers.terms)
        flat = array("i")
        lengths = np.empty(len(texts), np.int32)
        for i, text in enumerate(texts):
            found = words(text)
            lengths[i] = len(found)
            flat.extend(map(numbers.__getitem__, found))
        fresh = "\n".join(islice(numbers.terms, first, None))
        # Sorted pairs of term and passage, both in one number.
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
    """Word → number of its term, in the order in which terms first come."""

    def __init__(self, key: Callable[[str], str]) -> None:
        super().__init__()
        self._key = key
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        self[word] = number = self.terms.setdefault(self._key(word), len(self.terms))
        return number


def split_blocks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """At most `size` texts at a time, fewer where they are long."""
    part, room = list[str](), _CHARACTERS
    for text in texts:
        part.append(text)
        room -= len(text)
        if len(part) == size or room <= 0:
            yield part
            part, room = [], _CHARACTERS
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
    """Write the files for `blocks`, of `total` passages, into an empty folder. OSError."""
    apart = folder / "parts"
    apart.mkdir()
    parts = _PostingFiles(apart, blocks, total, progress)
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
    shutil.rmtree(apart)


class _PostingFiles:
    """The first pass: the postings of a corpus, block after block, in files of `folder`.

    `vocabulary`: each term's number, in the order in which the terms first come. `lengths`: words
    of each passage. `starts`: where each term's postings begin by term, and the last one's end.
    """

    def __init__(
        self, folder: Path, blocks: Iterable[Block], total: int, progress: Progress
    ) -> None:
        """Write the files. OSError."""
        self._folder = folder
        self._sizes: list[tuple[int, int]] = []  # passages and terms of each block
        self.vocabulary: dict[str, int] = {}
        known: dict[int, Ints] = {}  # maker → our numbers of its terms
        lengths = [np.empty(0, np.int32)]
        done = 0
        with ExitStack() as stack:
            files = [stack.enter_context((folder / name).open("wb")) for name in _COLUMNS]
            for block in blocks:
                for file, column in zip(files, self._columns(block, known), strict=True):
                    file.write(column.tobytes())
                lengths.append(block.lengths)
                self._sizes.append((len(block.lengths), len(block.counts)))
                done += len(block.lengths)
                progress("bm25: words", done, total)
        self.lengths = np.concatenate(lengths)
        found = np.zeros(len(self.vocabulary), np.int64)
        for numbers, counts in self._heads():
            found[numbers] += counts
        self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])

    def _columns(self, block: Block, known: dict[int, Ints]) -> tuple[NDArray[Any], ...]:
        """(terms, counts, passages, frequencies) of a block by our numbers of terms, ascending."""
        vocabulary = self.vocabulary
        names = block.fresh.split("\n") if block.fresh else []
        numbers = (vocabulary.setdefault(name, len(vocabulary)) for name in names)
        fresh = np.fromiter(numbers, np.int32, len(names))
        ours = np.concatenate([known.get(block.maker, fresh)[: block.first], fresh])
        known[block.maker] = ours
        terms = ours[block.terms]
        order = np.argsort(terms)
        counts = block.counts[order]
        starts = (np.cumsum(block.counts, dtype=np.int64) - block.counts)[order]
        at = np.repeat(starts - (np.cumsum(counts, dtype=np.int64) - counts), counts)
        at += np.arange(len(at))
        return terms[order], counts, block.passages[at], block.frequencies[at]

    def _heads(self) -> Iterator[tuple[Ints, Ints]]:
        """(terms, counts) of each block."""
        with (
            (self._folder / "terms").open("rb") as terms,
            (self._folder / "counts").open("rb") as counts,
        ):
            for _, size in self._sizes:
                yield np.fromfile(terms, np.int32, size), np.fromfile(counts, np.int32, size)

    def ranges(self, cuts: list[int]) -> Iterator[tuple[Ints, Ints]]:
        """(passages, frequencies) between each two of these terms, by term and then by passage."""
        # How many terms and postings stand before each cut in each block.
        places = np.empty((len(self._sizes), len(cuts), 2), np.int64)
        before = np.zeros(2, np.int64)
        for block, (terms, counts) in enumerate(self._heads()):
            ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            at = np.searchsorted(terms, cuts)
            places[block] = before + np.stack([at, ends[at]], axis=1)
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
                    self._sizes, places[:, number : number + 2], strict=True
                ):
                    if term < last_term:
                        terms = read("terms", term, last_term) - low
                        counts = read("counts", term, last_term)
                        at = np.repeat(free[terms] - (np.cumsum(counts) - counts), counts)
                        at += np.arange(len(at))
                        found = read("passages", posting, last_posting)
                        passages[at] = found.astype(np.int32) + base
                        frequencies[at] = read("frequencies", posting, last_posting)
                        free[terms] += counts
                    base += size
                yield passages, frequencies


def _write_scores(
    folder: Path, parts: _PostingFiles, k1: float, b: float, span: int, progress: Progress
) -> None:
    """The second pass: passages and scores by term, and each term's highest score.

    log(1 + (n − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·l/m)), computed in float64 and kept in
    float32; the steps are in the order of the library bm25s, for equal last bits.
    """
    starts, lengths = parts.starts, parts.lengths
    mean = sum_counts(lengths) / max(len(lengths), 1)
    norms = k1 * ((1 - b) + b * lengths.astype(np.float64) / max(mean, 1e-9))
    in_passages, n = np.diff(starts), len(lengths)
    values, which = np.unique(in_passages, return_inverse=True)
    ratios = 1 + (n - values + 0.5) / (values + 0.5)
    weights = np.array([log(ratio) for ratio in ratios.tolist()], np.float32)[which]
    highest = np.zeros(len(weights), np.float32)
    # Terms between which there are at most `span` postings, or a single term.
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
            for at in range(0, len(scores), _SLICE):
                part = slice(at, at + _SLICE)
                tf = frequencies[part].astype(np.float64)
                scores[part] *= tf / (norms[passages[part]] + tf)
            highest[low:high] = np.maximum.reduceat(scores, starts[low:high] - starts[low])
            passages_file.write(passages.data)
            scores_file.write(scores.data)
            progress("bm25: scores", int(starts[high]), total)
    np.save(folder / HIGHEST, highest)


def _begin_array(file: BinaryIO, kind: str, length: int) -> None:
    """The head of a .npy file whose numbers follow."""
    head: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, head)


def map_array(path: Path) -> NDArray[Any]:
    # Plain arrays: each slice of np.memmap costs microseconds.
    return np.asarray(np.load(path, mmap_mode="r"))
