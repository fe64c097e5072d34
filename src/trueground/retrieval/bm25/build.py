"""BM25 scores of a whole corpus, written to files in the layout of the library bm25s.

Two passes, both sequential on the disk. First the postings of each block of passages go to files of
their own. Then they are put together, scored and written, one range of terms after the other. In
memory are the vocabulary, some bytes a passage, one block and one range.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.options import Progress
from trueground.retrieval.bm25.blocks import Block
from trueground.retrieval.bm25.parts import PostingFiles

# The names that bm25s gives them.
SCORES, PASSAGES = "data.csc.index.npy", "indices.csc.index.npy"
STARTS, VOCABULARY, PARAMETERS = "indptr.csc.index.npy", "vocab.index.json", "params.index.json"
# Ours beside them: where each term begins in VOCABULARY, the terms' numbers in the order of their
# letters, and each term's highest score.
OFFSETS, SORTED, HIGHEST = "vocab.offsets.npy", "vocab.sorted.npy", "highest.npy"
LAYOUT = "0.3.0"  # of bm25s

RANGE = 8_000_000  # postings that are put together at once
_SLICE = 1 << 17  # postings that are scored at once


class IndexSize(NamedTuple):
    """How much there is in an index."""

    passages: int
    terms: int
    postings: int


def write_index(
    folder: Path,
    blocks: Iterable[Block],
    total: int,
    *,
    k1: float,
    b: float,
    progress: Progress,
    span: int = RANGE,
) -> IndexSize:
    """Write the files for `blocks`, of `total` passages, into an empty folder. OSError."""
    apart = folder / "parts"
    apart.mkdir()
    parts = PostingFiles(apart, blocks, total, progress)
    written = IndexSize(len(parts.lengths), len(parts.vocabulary), int(parts.starts[-1]))
    _write_vocabulary(folder, parts.vocabulary)
    parts.vocabulary.clear()
    np.save(folder / STARTS, parts.starts)
    _join(folder, parts, _norms(parts.lengths, k1, b), span, progress)
    (folder / PARAMETERS).write_bytes(_parameters(k1, b, written.passages))
    shutil.rmtree(apart)
    return written


def _norms(lengths: NDArray[np.int32], k1: float, b: float) -> NDArray[np.float64]:
    """k1 · (1 − b + b·l/m) of each passage; the steps are in bm25s' order, for equal last bits."""
    mean = lengths.sum(dtype=np.int64) / max(len(lengths), 1)
    norms: NDArray[np.float64] = k1 * ((1 - b) + b * lengths.astype(np.float64) / max(mean, 1e-9))
    return norms


def _weights(in_passages: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    """log(1 + (n − df + ½)/(df + ½)) of each term."""
    values, which = np.unique(in_passages, return_inverse=True)
    logs = [math.log(1 + (n - df + 0.5) / (df + 0.5)) for df in values.tolist()]
    return np.array(logs, np.float32)[which]


def _join(
    folder: Path, parts: PostingFiles, norms: NDArray[np.float64], span: int, progress: Progress
) -> None:
    """The second pass: passages and scores by term, and each term's highest score."""
    starts, in_passages = parts.starts, np.diff(parts.starts)
    weights = _weights(in_passages, len(norms))
    highest = np.zeros(len(weights), np.float32)
    cuts, total = _cuts(starts, span), int(starts[-1])
    with (
        (folder / SCORES).open("wb") as scores_file,
        (folder / PASSAGES).open("wb") as passages_file,
        parts.by_range(cuts) as ranges,
    ):
        _begin(scores_file, "<f4", total)
        _begin(passages_file, "<i4", total)
        for number, (low, high) in enumerate(pairwise(cuts)):
            passages, frequencies = ranges.joined(number)
            scores = np.repeat(weights[low:high], in_passages[low:high])
            _score(scores, passages, frequencies, norms)
            highest[low:high] = np.maximum.reduceat(scores, starts[low:high] - starts[low])
            passages_file.write(passages.data)
            scores_file.write(scores.data)
            progress("bm25: scores", int(starts[high]), total)
    np.save(folder / HIGHEST, highest)


def _score(
    weights: NDArray[np.float32],
    passages: NDArray[np.int32],
    frequencies: NDArray[np.int32],
    norms: NDArray[np.float64],
) -> None:
    """weight · tf/(tf + norm) in place, computed in float64 and kept in float32, as bm25s does."""
    for low in range(0, len(weights), _SLICE):
        part = slice(low, low + _SLICE)
        tf = frequencies[part].astype(np.float64)
        weights[part] *= tf / (norms[passages[part]] + tf)


def _cuts(starts: NDArray[np.int64], span: int) -> list[int]:
    """Term numbers between which there are at most `span` postings, or a single term."""
    cuts = [0]
    while cuts[-1] < len(starts) - 1:
        low = cuts[-1]
        high = int(np.searchsorted(starts, starts[low] + span, side="right")) - 1
        cuts.append(max(low + 1, high))
    return cuts


def _begin(file: BinaryIO, kind: str, length: int) -> None:
    """The head of a .npy file whose numbers follow."""
    head: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, head)


def _write_vocabulary(folder: Path, vocabulary: dict[str, int]) -> None:
    """A JSON map term → number, as bm25s reads it. In letters and digits nothing is escaped."""
    ordered = map(vocabulary.__getitem__, sorted(vocabulary))
    np.save(folder / SORTED, np.fromiter(ordered, np.int32, len(vocabulary)))
    terms = list(vocabulary)
    offsets = np.empty(len(terms), np.int64)
    with (folder / VOCABULARY).open("wb") as file:
        at = file.write(b"{")
        for low in range(0, len(terms), _SLICE):
            entries = [f'"{t}":{n}'.encode() for n, t in enumerate(terms[low : low + _SLICE], low)]
            sizes = np.fromiter(map(len, entries), np.int64, len(entries)) + 1
            ends = at + np.cumsum(sizes)
            offsets[low : low + len(entries)] = ends - sizes
            last = low + len(entries) == len(terms)
            at += file.write(b",".join(entries) + (b"" if last else b","))
        file.write(b"}")
    np.save(folder / OFFSETS, offsets)


def _parameters(k1: float, b: float, passages: int) -> bytes:
    """What bm25s needs to open the index."""
    return msgspec.json.format(
        msgspec.json.encode(
            {
                "k1": k1,
                "b": b,
                "delta": 0.5,
                "method": "lucene",
                "idf_method": "lucene",
                "dtype": "float32",
                "int_dtype": "int32",
                "num_docs": passages,
                "version": LAYOUT,
                "backend": "numpy",
            }
        )
    )
