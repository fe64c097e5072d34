"""Vectors of passages: written block by block, read memory-mapped, searched exactly.

vectors.f32 or vectors.f16   the rows, without a header
vectors.json                 a description of the vectors, and the number of finished rows

The search computes products in float32, block by block. The best candidates are compared in
float64, one vector at a time. So hits don't depend on other queries, blocks or threads.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.encoders import BiEncoder
from trueground.errors import InputError, ProtocolError, WriteError
from trueground.files import OutputPath, StateFile
from trueground.options import Progress
from trueground.wings.search.base import TITLED, Hit
from trueground.wings.search.store import PassageStore, next_step

FORMAT = 2
HEADER = "vectors.json"
STORES: dict[str, tuple[np.dtype[Any], str]] = {
    "float32": (np.dtype("<f4"), "vectors.f32"),
    "float16": (np.dtype("<f2"), "vectors.f16"),
}
# Passages per block. An interrupted build loses at most one block.
BLOCK = 4_096
_TEXTS_PER_ENCODING = 16_384  # A large number lets the encoder sort texts by length.
_QUERIES_PER_BATCH = 64
# The error of float32 products of unit vectors is smaller. Closer scores are compared exactly.
_MARGIN = 1e-4
_ROUNDING = 2.0**-24  # The relative error of one float32 operation.
_PASSAGES_PER_PRODUCT = 8_192  # Passages per thread whose products are in memory at once.
Floats = NDArray[np.float32]
# Rows of float32 or float16, in memory or mapped from a file.
Vectors = NDArray[Any]
Numbers = NDArray[np.intp]


class VectorsHeader(msgspec.Struct):
    """The description of vectors.

    Attributes:
        format: The version of the format.
        passages: The digest of the passages.
        count: The number of passages.
        width: The number of dimensions.
        store: The type of numbers, float32 or float16.
        model: The name of the encoder.
        space: Identifies the vectors that these can be compared with.
        signature: The signature of the encoder.
        similarity: The similarity of the encoder.
        longest: The length of the longest vector.
        done: The number of passages that have a vector.
    """

    format: int
    passages: str
    count: int
    width: int
    store: str
    model: str
    space: str
    signature: str
    similarity: str
    longest: float = 0.0
    done: int = 0

    @property
    def row_bytes(self) -> int:
        return self.width * STORES[self.store][0].itemsize


class OpenedVectors(NamedTuple):
    """Vectors of shape (count, width), with their description and its digest."""

    header: VectorsHeader
    rows: Vectors
    digest: str


def write_vectors(
    folder: Path,
    passages: PassageStore,
    encoder: BiEncoder,
    store: str,
    model: str,
    progress: Progress,
) -> None:
    """Encode all passages; finished vectors of the same encoder are kept.

    Vectors of other passages are overwritten.

    Raises:
        InputError: The folder has vectors of another encoder.
        ProtocolError: The encoder returns invalid vectors.
        WriteError: The vectors can't be written.
    """
    count, width = len(passages), encoder.width if len(passages) else 0
    expected = VectorsHeader(
        FORMAT,
        passages.sha256,
        count,
        width,
        store,
        model,
        encoder.space,
        encoder.signature,
        encoder.similarity,
    )
    file = folder / STORES[store][1]
    header = _resume(folder, expected)
    with ExitStack() as stack:
        with _writing(folder):
            OutputPath(folder).make_directory()
            resumes = bool(header.done)
            mode = "r+b" if resumes else "xb"
            opened = OutputPath(file).open_no_follow(mode, replace=not resumes)
            out = stack.enter_context(opened)
        for start in range(header.done, count, BLOCK):
            progress("encode passages", start, count)
            batch = [passages[number] for number in range(start, min(start + BLOCK, count))]
            encoded = encoder.encode_passages(
                [(passage.title or "", passage.text) for passage in batch]
            )
            if encoded.shape != (len(batch), width):
                raise ProtocolError(
                    f"the encoder {encoder.name!r} returned an array of shape {encoded.shape} for "
                    f"{len(batch)} passages; expected {(len(batch), width)}"
                )
            # Reading and encoding are outside: their errors aren't errors of this file.
            with _writing(folder):
                _append(out, encoded, header)
                StateFile(folder / HEADER).write(header)
        progress("encode passages", count, count)
        with _writing(folder):
            StateFile(folder / HEADER).write(header)


def _resume(folder: Path, expected: VectorsHeader) -> VectorsHeader:
    """Return the header to continue from: finished rows that the file really has."""
    header = read_header(folder)
    if header is None or header.passages != expected.passages or header.store != expected.store:
        return expected
    found_encoder = (header.signature, header.similarity, header.width)
    if found_encoder != (expected.signature, expected.similarity, expected.width):
        raise InputError(
            f"{folder} has vectors of the encoder {header.signature} ({header.width} dimensions), "
            f"not of {expected.signature} ({expected.width}); one file can't have both. Use the "
            f"same encoder, or remove {folder}"
        )
    size = _size(folder / STORES[header.store][1])
    n_rows = size // header.row_bytes if header.row_bytes else 0
    if n_rows < header.done:
        # `longest` may be of a lost row. It can only be too large, which is safe.
        header.done = n_rows // BLOCK * BLOCK
    return header


def _append(out: BinaryIO, part: Floats, header: VectorsHeader) -> None:
    """Append rows, and count them when they are on the disk."""
    with np.errstate(over="ignore"):
        rows = part.astype(STORES[header.store][0])
    if not np.isfinite(rows).all():
        wrong = int(np.argmin(np.isfinite(rows).all(axis=1))) + header.done
        raise ProtocolError(
            f"the encoder {header.model!r} returned a number for passage {wrong} that isn't finite "
            f"or is too large for {header.store}; use dtype=float32 and store=float32"
        )
    out.seek(header.done * header.row_bytes)
    out.truncate()
    out.write(rows.tobytes())
    out.flush()
    os.fsync(out.fileno())
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    header.longest = max(header.longest, float(lengths.max()))
    header.done += len(rows)


def open_vectors(folder: Path, passages: PassageStore) -> OpenedVectors:
    """Map the vectors. Raises InputError if they are missing, damaged or of other passages."""
    header = read_header(folder)
    if header is None or header.done < header.count:
        share = f"{header.done:,} of {header.count:,}" if header else "none"
        raise InputError(
            f"{folder}: vectors of passages are missing (found {share}); build them with "
            "`trueground index build`"
        )
    if header.passages != passages.sha256 or header.count != len(passages):
        raise InputError(
            f"{folder} has the vectors of {header.count:,} other passages (digest "
            f"{header.passages[:12]}; expected {len(passages):,} with {passages.sha256[:12]}); "
            "build the index again"
        )
    dtype, name = STORES[header.store]
    size, expected = _size(folder / name), header.count * header.row_bytes
    if size != expected:
        raise InputError(
            f"{folder / name} has {size:,} bytes, expected {expected:,}: it is truncated or "
            f"damaged. Remove {folder} and build the index again"
        )
    rows: Vectors = np.empty((0, header.width), dtype)
    if expected:
        mapped = np.memmap(folder / name, dtype, "r", shape=(header.count, header.width))
        rows = np.asarray(mapped)  # Slicing a memmap is much slower.
    return OpenedVectors(header, rows, hashlib.sha256(msgspec.json.encode(header)).hexdigest())


def read_header(folder: Path) -> VectorsHeader | None:
    """Return the description of the vectors in a folder, None if there is no valid one."""
    try:
        header = msgspec.json.decode((folder / HEADER).read_bytes(), type=VectorsHeader)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return header if header.format == FORMAT and header.store in STORES else None


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{folder}: can't write the vectors: {error.strerror or error}. Finished vectors are "
            f"kept; {next_step(error)}, and build again"
        ) from error


def rounding_margin(queries: Floats, longest: float) -> Floats:
    """Return the maximum rounding error of the difference of two float32 products, per query.

    The error of a sum of d products is at most about d · 2^-24 · |q| · |v|, in any order;
    `longest` is the greatest |v|.
    """
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    width = queries.shape[1] + 2
    return np.asarray(2.2 * width * _ROUNDING * lengths * longest, dtype=np.float32)


def nearest(
    vectors: Vectors,
    queries: Floats,
    top: int,
    margin: Floats,
    threads: int = 1,
    block: int | None = None,
) -> Iterator[list[Hit]]:
    """Yield the `top` hits of each query, best first; equal scores in the vectors' order.

    Args:
        vectors: The vectors of the passages, shape (passages, width).
        queries: The vectors of the queries, shape (queries, width).
        top: The number of hits per query.
        margin: The result of `rounding_margin`, shape (queries,).
        threads: The number of threads.
        block: The number of vectors per thread whose products are in memory at once.
    """
    block = block or _PASSAGES_PER_PRODUCT
    blocks = -(-len(vectors) // block)
    share = block * max(1, -(-blocks // threads))

    def find_candidates(start: int) -> list[list[tuple[Numbers, Floats]]]:
        return _candidates(vectors[start : start + share], start, queries, top, margin, block)

    starts = range(0, len(vectors), share)
    if len(starts) == 1:
        parts = [find_candidates(0)]
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="trueground-search") as pool:
            parts = list(pool.map(find_candidates, starts))
    for number, query in enumerate(queries):
        found = [candidate for part in parts for candidate in part[number]]
        numbers, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(scores) > top:
            numbers = numbers[scores >= np.partition(scores, -top)[-top] - margin[number]]
        yield score_exactly(vectors, numbers, query, top)


def score_exactly(vectors: Vectors, candidates: Numbers, query: Floats, top: int) -> list[Hit]:
    """Return the best of the candidates (ascending); each score is summed independently."""
    scores = (vectors[candidates].astype(np.float64) * query).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:top]
    return [Hit(int(candidates[i]), float(scores[i])) for i in order]


def _candidates(
    vectors: Vectors, first: int, queries: Floats, top: int, margin: Floats, block: int
) -> list[list[tuple[Numbers, Floats]]]:
    """Return vectors that may be among the best of each query, and their float32 scores.

    The vectors are numbered from `first`.
    """
    best = np.full((len(queries), top), -np.inf, np.float32)
    maybe: list[list[tuple[Numbers, Floats]]] = [[] for _ in queries]
    for start in range(0, len(vectors), block):
        scores = queries @ np.asarray(vectors[start : start + block], dtype=np.float32).T
        rows = np.flatnonzero(scores.max(axis=1) >= best.min(axis=1) - margin)
        if len(rows) < len(scores):
            scores = scores[rows]
        joined = np.hstack((best[rows], scores))
        best[rows] = np.partition(joined, -top, axis=1)[:, -top:]
        enough = best[rows].min(axis=1) - margin[rows]
        for number, row, least in zip(rows, scores, enough, strict=True):
            indices = np.flatnonzero(row >= least)
            maybe[number].append((indices + (first + start), row[indices]))
    return maybe


class Dense:
    """Exact search by cosine over texts in memory.

    The first search encodes the texts. Their vectors take n · d · 4 bytes. Scores are compared in
    float64, so the order doesn't depend on other queries or on the machine.
    """

    name = "dense"

    def __init__(self, texts: Sequence[str], encoder: BiEncoder, *, titled: bool = False) -> None:
        """Take texts and an encoder; `titled` if the texts start with their titles."""
        searched = TITLED if titled else ""
        self.signature = f"dense:cosine{searched},{encoder.signature}"
        self._texts, self._encoder = texts, encoder
        self._vectors: Floats | None = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """Return at most `top` hits for each query, best first; equal scores in corpus order.

        Raises:
            ProtocolError: The encoder doesn't return unit vectors.
        """
        top = min(top, len(self._texts))
        if top < 1 or not queries:
            return [[] for _ in queries]
        if self._vectors is None:
            self._vectors = self._encode(self._texts)
        vectors = self._encode(queries)
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), _QUERIES_PER_BATCH):
            batch = vectors[start : start + _QUERIES_PER_BATCH]
            margin = np.full(len(batch), _MARGIN, np.float32)
            hits += nearest(self._vectors, batch, top, margin)
        return hits

    def _encode(self, texts: Sequence[str]) -> Floats:
        parts = []
        for start in range(0, len(texts), _TEXTS_PER_ENCODING):
            part = list(texts[start : start + _TEXTS_PER_ENCODING])
            vectors = self._encoder.encode(part)
            name = self._encoder.name
            if vectors.ndim != 2 or len(vectors) != len(part):
                raise ProtocolError(
                    f"the encoder {name!r} returned an array of shape {vectors.shape} for "
                    f"{len(part)} texts; expected one vector per text"
                )
            lengths = np.linalg.norm(vectors, axis=1)
            unit = np.abs(lengths - 1) < 1e-3
            if not unit.all():
                wrong = int(np.argmin(unit))
                raise ProtocolError(
                    f"the encoder {name!r} returned a vector of length {lengths[wrong]:g} for text "
                    f"{wrong}; expected unit vectors"
                )
            parts.append(vectors.astype(np.float32, copy=False))
        return np.concatenate(parts)
