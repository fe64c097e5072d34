"""Vectors of passages: written to a file block by block, read memory-mapped, searched exactly.

vectors.f32 or vectors.f16   row after row, without a header
vectors.json                 what the vectors are, and how many of the rows are there

The search makes products in float32, block by block; what may be among the best is compared in
float64, each vector by itself. So neither other queries, nor blocks, nor threads change a hit.
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
# Passages between two records of progress: what is lost at most when it is broken off.
BLOCK = 4_096
_ENCODED = 16_384  # texts that an encoder gets at once, so that it can sort them by length
_QUERIES = 64  # searched for at once in memory
# More than float32 products of unit vectors can be off by; those closer are compared exactly.
_MARGIN = 1e-4
_ROUNDING = 2.0**-24  # of one float32 operation, relative
_PRODUCTS = 8_192  # passages whose products are in memory at once, for each thread
Floats = NDArray[np.float32]
# Rows of float32 or float16, in memory or mapped from a file.
Vectors = NDArray[Any]
Numbers = NDArray[np.intp]


class VectorsHeader(msgspec.Struct):
    """What the vectors are. `signature` is that of the encoder as it was run, `space` names what
    they can be compared with, `longest` is the length of the longest, `passages` the digest of the
    passages, and `done` how many have their vector.
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
    """`rows` of shape (count, width); `digest` stands for what they are."""

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
    """Encode all passages; what is there already of the same encoder stays.

    Files of other passages are overwritten. InputError where they were begun with another encoder;
    ProtocolError for vectors that are none; WriteError.
    """
    count, width = len(passages), encoder.width if len(passages) else 0
    wanted = VectorsHeader(
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
    header = _resume(folder, wanted)
    with ExitStack() as stack:
        with _writing(folder):
            OutputPath(folder).make_directory()
            begun = bool(header.done)
            opened = OutputPath(file).open_no_follow("r+b" if begun else "xb", replace=not begun)
            out = stack.enter_context(opened)
        for start in range(header.done, count, BLOCK):
            progress("encode passages", start, count)
            part = [passages[number] for number in range(start, min(start + BLOCK, count))]
            found = encoder.encode_passages([(one.title or "", one.text) for one in part])
            if found.shape != (len(part), width):
                raise ProtocolError(
                    f"the encoder {encoder.name!r} gave an array of shape {found.shape} for "
                    f"{len(part)} passages; expected {(len(part), width)}"
                )
            # Reading passages and encoding them may fail too, but not for want of room here.
            with _writing(folder):
                _append(out, found, header)
                StateFile(folder / HEADER).write(header)
        progress("encode passages", count, count)
        with _writing(folder):
            StateFile(folder / HEADER).write(header)


def _resume(folder: Path, wanted: VectorsHeader) -> VectorsHeader:
    """Where to go on. Rows count that the header names and that the file really has."""
    header = read_header(folder)
    if header is None or header.passages != wanted.passages or header.store != wanted.store:
        return wanted
    if any(getattr(header, n) != getattr(wanted, n) for n in ("signature", "similarity", "width")):
        raise InputError(
            f"{folder} was begun with the encoder {header.signature} ({header.width} dimensions), "
            f"and now it is {wanted.signature} ({wanted.width}): their vectors do not belong in "
            f"one file. Go on as it was begun, or remove {folder}"
        )
    size = _size(folder / STORES[header.store][1])
    there = size // header.row_bytes if header.row_bytes else 0
    if there < header.done:
        # `longest` may be that of a row that is gone: it is only ever too large, which is safe.
        header.done = there // BLOCK * BLOCK
    return header


def _append(out: BinaryIO, part: Floats, header: VectorsHeader) -> None:
    """Add rows behind those that are there, and count them only when they are on the disk."""
    with np.errstate(over="ignore"):
        rows = part.astype(STORES[header.store][0])
    if not np.isfinite(rows).all():
        wrong = int(np.argmin(np.isfinite(rows).all(axis=1))) + header.done
        raise ProtocolError(
            f"the encoder {header.model!r} gave a number for passage {wrong} that is none, or too "
            f"large for {header.store}; use dtype=float32 and store=float32"
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
    """The vectors, mapped. InputError: not there, not whole, or of other passages."""
    header = read_header(folder)
    if header is None or header.done < header.count:
        found = f"{header.done:,} of {header.count:,}" if header else "none"
        raise InputError(
            f"{folder}: the vectors of the passages are not all there (found {found}); go on with "
            "`trueground index build`"
        )
    if header.passages != passages.sha256 or header.count != len(passages):
        raise InputError(
            f"{folder} has the vectors of {header.count:,} passages with the digest "
            f"{header.passages[:12]}, and here are {len(passages):,} with {passages.sha256[:12]}; "
            "build the index again"
        )
    dtype, name = STORES[header.store]
    size, expected = _size(folder / name), header.count * header.row_bytes
    if size != expected:
        raise InputError(
            f"{folder / name} has {size:,} bytes, and {HEADER} speaks of {expected:,}: it is cut "
            f"off or damaged. Remove {folder} and build the index again"
        )
    rows: Vectors = np.empty((0, header.width), dtype)
    if expected:
        mapped = np.memmap(folder / name, dtype, "r", shape=(header.count, header.width))
        rows = np.asarray(mapped)  # slicing a memmap itself costs far more
    return OpenedVectors(header, rows, hashlib.sha256(msgspec.json.encode(header)).hexdigest())


def read_header(folder: Path) -> VectorsHeader | None:
    """What the vectors in a folder are; None where that is not there or cannot be used."""
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
            f"{folder}: writing the vectors failed: {error.strerror or error}. What was finished "
            f"is kept; {next_step(error)}, and build again"
        ) from error


def rounding_margin(asked: Floats, longest: float) -> Floats:
    """By how much two products in float32 may be out of order, for each query.

    The error of a sum of d products is at most about d · 2^-24 · |q| · |v|, whatever its order;
    `longest` is the greatest |v|.
    """
    lengths = np.linalg.norm(asked.astype(np.float64), axis=1)
    width = asked.shape[1] + 2
    return np.asarray(2.2 * width * _ROUNDING * lengths * longest, dtype=np.float32)


def nearest(
    vectors: Vectors,
    asked: Floats,
    top: int,
    margin: Floats,
    threads: int = 1,
    block: int | None = None,
) -> Iterator[list[Hit]]:
    """For each query the `top` hits, best first; equal scores in the vectors' order.

    `margin`: see `rounding_margin`, shape (queries,). `block`: vectors whose products are in memory
    at once, for each thread.
    """
    block = block or _PRODUCTS
    blocks = -(-len(vectors) // block)
    share = block * max(1, -(-blocks // threads))

    def look(start: int) -> list[list[tuple[Numbers, Floats]]]:
        return _candidates(vectors[start : start + share], start, asked, top, margin, block)

    starts = range(0, len(vectors), share)
    if len(starts) == 1:
        parts = [look(0)]
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="trueground-search") as pool:
            parts = list(pool.map(look, starts))
    for place, query in enumerate(asked):
        found = [one for part in parts for one in part[place]]
        numbers, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(scores) > top:
            numbers = numbers[scores >= np.partition(scores, -top)[-top] - margin[place]]
        yield score_exactly(vectors, numbers, query, top)


def score_exactly(vectors: Vectors, found: Numbers, query: Floats, top: int) -> list[Hit]:
    """The best of `found` (ascending). Each row is summed by itself, whatever stands beside it."""
    scores = (vectors[found].astype(np.float64) * query).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:top]
    return [Hit(int(found[i]), float(scores[i])) for i in order]


def _candidates(
    vectors: Vectors, first: int, asked: Floats, top: int, margin: Floats, block: int
) -> list[list[tuple[Numbers, Floats]]]:
    """For each query those of these vectors that may be among its best, and their scores in
    float32; the vectors are numbered from `first`.
    """
    best = np.full((len(asked), top), -np.inf, np.float32)
    maybe: list[list[tuple[Numbers, Floats]]] = [[] for _ in asked]
    for start in range(0, len(vectors), block):
        scores = asked @ np.asarray(vectors[start : start + block], dtype=np.float32).T
        rows = np.flatnonzero(scores.max(axis=1) >= best.min(axis=1) - margin)
        if len(rows) < len(scores):
            scores = scores[rows]
        joined = np.hstack((best[rows], scores))
        best[rows] = np.partition(joined, -top, axis=1)[:, -top:]
        enough = best[rows].min(axis=1) - margin[rows]
        for place, row, least in zip(rows, scores, enough, strict=True):
            found = np.flatnonzero(row >= least)
            maybe[place].append((found + (first + start), row[found]))
    return maybe


class Dense:
    """Cosine between queries and `texts`, over all of them, in memory.

    The texts are encoded with the first search and kept as float32, n · d · 4 bytes. The order is
    that of the products in float64, so it depends neither on what else is asked nor on the machine.
    """

    name = "dense"

    def __init__(self, texts: Sequence[str], encoder: BiEncoder, *, titled: bool = False) -> None:
        """`titled`: the texts begin with their titles, which the signature tells."""
        self.signature = f"dense:cosine{TITLED * titled},{encoder.signature}"
        self._texts, self._encoder = texts, encoder
        self._vectors: Floats | None = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the encoder gives no unit vector for a text.
        """
        top = min(top, len(self._texts))
        if top < 1 or not queries:
            return [[] for _ in queries]
        if self._vectors is None:
            self._vectors = self._encode(self._texts)
        asked = self._encode(queries)
        found: list[list[Hit]] = []
        for start in range(0, len(queries), _QUERIES):
            some = asked[start : start + _QUERIES]
            margin = np.full(len(some), _MARGIN, np.float32)
            found += nearest(self._vectors, some, top, margin)
        return found

    def _encode(self, texts: Sequence[str]) -> Floats:
        parts = []
        for start in range(0, len(texts), _ENCODED):
            part = list(texts[start : start + _ENCODED])
            found = self._encoder.encode(part)
            name = self._encoder.name
            if found.ndim != 2 or len(found) != len(part):
                raise ProtocolError(
                    f"the encoder {name!r} gave an array of shape {found.shape} for {len(part)} "
                    "texts; it must give one vector for each"
                )
            lengths = np.linalg.norm(found, axis=1)
            unit = np.abs(lengths - 1) < 1e-3
            if not unit.all():
                wrong = int(np.argmin(unit))
                raise ProtocolError(
                    f"the encoder {name!r} gave a vector of length {lengths[wrong]:g} for text "
                    f"{wrong}; it must give unit vectors"
                )
            parts.append(found.astype(np.float32, copy=False))
        return np.concatenate(parts)
