"""Postings on their way into an index: files by block of passages, read again by range of terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.options import Progress
from trueground.retrieval.bm25.blocks import Block

_TYPES: dict[str, Any] = {
    "terms": np.int32,
    "counts": np.int32,
    "passages": np.uint16,
    "frequencies": np.int32,
}


class PostingFiles:
    """The postings of a corpus, block after block, in files of `folder`.

    `vocabulary`: each term's number, in the order in which the terms first come; it depends on the
    texts only. `lengths`: words of each passage. `starts`: where the postings of each term begin
    when they stand by term, and where the last one's end.
    """

    def __init__(
        self, folder: Path, blocks: Iterable[Block], total: int, progress: Progress
    ) -> None:
        """Write the files. OSError."""
        self._folder = folder
        self._sizes: list[int] = []  # passages and terms of each block
        self._terms: list[int] = []
        numbers = _TermNumbers()
        lengths = [np.empty(0, np.int32)]
        done = 0
        with ExitStack() as stack:
            files = [stack.enter_context((folder / name).open("wb")) for name in _TYPES]
            for block in blocks:
                for file, column in zip(files, numbers.columns(block), strict=True):
                    file.write(column.tobytes())
                lengths.append(block.lengths)
                self._sizes.append(len(block.lengths))
                self._terms.append(len(block.terms))
                done += len(block.lengths)
                progress("bm25: words", done, total)
        self.lengths = np.concatenate(lengths)
        self.vocabulary: dict[str, int] = numbers
        self.starts = self._count(len(numbers))

    def _count(self, terms: int) -> NDArray[np.int64]:
        found = np.zeros(terms, np.int64)
        for numbers, counts in self._heads():
            found[numbers] += counts
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])

    def _heads(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """(terms, counts) of each block."""
        with ExitStack() as stack:
            terms, counts = (
                stack.enter_context((self._folder / name).open("rb"))
                for name in ("terms", "counts")
            )
            for size in self._terms:
                yield np.fromfile(terms, np.int32, size), np.fromfile(counts, np.int32, size)

    def by_range(self, cuts: list[int]) -> Ranges:
        """The postings between these term numbers; the first is 0, the last that of all terms."""
        return Ranges(self._folder, self._sizes, self._places(cuts), self.starts, cuts)

    def _places(self, cuts: list[int]) -> NDArray[np.int64]:
        """(blocks, cuts, 2): how many terms and postings stand before each cut in each block."""
        places = np.empty((len(self._terms), len(cuts), 2), np.int64)
        before = np.zeros(2, np.int64)
        for block, (terms, counts) in enumerate(self._heads()):
            ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            at = np.searchsorted(terms, cuts)
            places[block] = before + np.stack([at, ends[at]], axis=1)
            before += (len(terms), ends[-1])
        return places


class Ranges:
    """Ranges of terms, read from all blocks."""

    def __init__(
        self,
        folder: Path,
        sizes: list[int],
        places: NDArray[np.int64],
        starts: NDArray[np.int64],
        cuts: list[int],
    ) -> None:
        self._sizes, self._places = sizes, places
        self._starts, self._cuts = starts, cuts
        with ExitStack() as stack:
            self._files = {name: stack.enter_context((folder / name).open("rb")) for name in _TYPES}
            self._close = stack.pop_all().close

    def __enter__(self) -> Ranges:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def joined(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(passages, frequencies) of one range, by term and then by passage."""
        low, high = self._cuts[number : number + 2]
        free = self._starts[low:high] - self._starts[low]
        passages = np.empty(self._starts[high] - self._starts[low], np.int32)
        frequencies = np.empty(len(passages), np.int32)
        base = 0
        for block, size in enumerate(self._sizes):
            (term, posting), (last_term, last_posting) = self._places[block, number : number + 2]
            if term < last_term:
                terms = self._read("terms", term, last_term) - low
                counts = self._read("counts", term, last_term)
                at = np.repeat(free[terms] - (np.cumsum(counts) - counts), counts)
                at += np.arange(len(at))
                passages[at] = self._read("passages", posting, last_posting).astype(np.int32) + base
                frequencies[at] = self._read("frequencies", posting, last_posting)
                free[terms] += counts
            base += size
        return passages, frequencies

    def _read(self, name: str, low: int, high: int) -> NDArray[Any]:
        file, kind = self._files[name], np.dtype(_TYPES[name])
        file.seek(int(low) * kind.itemsize)
        return np.fromfile(file, kind, int(high - low))


class _TermNumbers(dict[str, int]):
    """Term → number, in the order in which terms first come."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[int, NDArray[np.int32]] = {}  # maker → our numbers of its terms

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number

    def columns(self, block: Block) -> tuple[NDArray[Any], ...]:
        """(terms, counts, passages, frequencies) of a block by our numbers of terms, ascending."""
        names = block.fresh.split("\n") if block.fresh else []
        fresh = np.fromiter(map(self.__getitem__, names), np.int32, len(names))
        known = self._of.get(block.maker, fresh)[: block.first]
        self._of[block.maker] = known = np.concatenate([known, fresh])
        terms = known[block.terms]
        order = np.argsort(terms)
        counts = block.counts[order]
        starts = (np.cumsum(block.counts, dtype=np.int64) - block.counts)[order]
        at = np.repeat(starts - (np.cumsum(counts, dtype=np.int64) - counts), counts)
        at += np.arange(len(at))
        return terms[order], counts, block.passages[at], block.frequencies[at]
