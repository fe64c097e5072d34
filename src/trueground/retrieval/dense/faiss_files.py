"""Approximate search with faiss: a graph (HNSW) or lists (IVF) over the vectors, in a file.

They are built by one thread. With several, HNSW inserts in an order that differs from run to run,
and so does what is found; IVF's k-means sums in another order. Sources: Malkov and Yashunin 2018
(HNSW); Johnson, Douze and Jégou 2021 (faiss).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trueground.encoders.base import Floats
from trueground.errors import InputError, MissingExtraError, UsageError, WriteError
from trueground.net.checkpoints import reason
from trueground.net.files import make_folder, write_state
from trueground.options import Progress
from trueground.retrieval.dense.exact import Numbers
from trueground.retrieval.dense.vectors_file import FORMAT, OpenedVectors

_FILE, _ABOUT = "index.faiss", "index.json"
_SEED = 0
_BLOCK = 16_384  # vectors added at once
_SAMPLE = 256  # vectors for each list that k-means looks at
_ALONE = 2**31 - 1  # queries from which on faiss would multiply them together


class _About(msgspec.Struct, frozen=True):
    """Of which vectors it is, its size, and the faiss that made it."""

    format: int
    vectors: str
    bytes: int
    faiss: str


@dataclass(frozen=True)
class Structure:
    """`kind` flat, hnsw or ivf. None: `nlist` 4·√n and `nprobe` a sixteenth of it, at least 8."""

    kind: str
    m: int = 32
    ef_construction: int = 200
    ef_search: int = 128
    nlist: int | None = None
    nprobe: int | None = None

    @property
    def files(self) -> str:
        """What names its files: what they were built with; empty for flat."""
        if self.kind == "hnsw":
            return f"-hnsw-{self.m}-{self.ef_construction}"
        return f"-ivf-{self.nlist or 'auto'}" if self.kind == "ivf" else ""

    @property
    def signature(self) -> str:
        if self.kind == "hnsw":
            return f"hnsw(m={self.m},ef={self.ef_construction}/{self.ef_search})"
        if self.kind == "ivf":
            return f"ivf(nlist={self.nlist or 'auto'},nprobe={self.nprobe or 'auto'})"
        return "flat"

    def lists(self, count: int) -> int:
        """How many lists for so many vectors. UsageError where there are fewer vectors."""
        if self.nlist is not None and self.nlist > count:
            raise UsageError(
                f"nlist={self.nlist}; there are {count} passages, so expected up to it"
            )
        return self.nlist or min(count, max(1, 4 * isqrt(count)))


def library() -> Any:
    """The `faiss` module. MissingExtraError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of its wrapper's own types
            import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("an approximate index of vectors", "retrieval") from error
    return faiss


def build_structure(
    folder: Path, vectors: OpenedVectors, structure: Structure, progress: Progress
) -> None:
    """Write the structure over the vectors; at once where it is there. UsageError, WriteError."""
    faiss, count = library(), len(vectors.rows)
    if count == 0 or _is_whole(folder, vectors):
        return
    with _one_thread(faiss):
        index = _made(faiss, vectors, structure)
        for start in range(0, count, _BLOCK):
            progress(f"build {structure.kind}", start, count)
            index.add(_floats(vectors, slice(start, start + _BLOCK)))
        progress(f"build {structure.kind}", count, count)
    beside = folder / f"{_FILE}.new"
    try:
        make_folder(folder)
        beside.unlink(missing_ok=True)  # perhaps a link
        faiss.write_index(index, str(beside))
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(folder / _FILE)
        size = (folder / _FILE).stat().st_size
        write_state(folder / _ABOUT, _About(FORMAT, vectors.digest, size, faiss.__version__))
    except (OSError, RuntimeError) as error:  # faiss tells of a full disk with the latter
        raise WriteError(f"{folder}: writing the index failed: {reason(error)}") from error


def check_structure(folder: Path, vectors: OpenedVectors, structure: Structure) -> None:
    """InputError where the structure over these vectors is missing or cut off."""
    if len(vectors.rows) and not _is_whole(folder, vectors):
        raise InputError(
            f"{folder} has no whole index {structure.kind} of these vectors; build it with "
            "`trueground index build`"
        )


class Structured:
    """A structure that was built, mapped from its file."""

    def __init__(self, folder: Path, vectors: OpenedVectors, structure: Structure) -> None:
        """InputError: not there, torn, or of other vectors; UsageError for nprobe above nlist."""
        self._structure = structure
        self._faiss = library()
        self._index: Any = None
        if len(vectors.rows) == 0:
            return
        check_structure(folder, vectors, structure)
        flag = self._faiss.IO_FLAG_MMAP
        if structure.kind == "hnsw":  # the older flag leaves its vectors in memory
            flag = getattr(self._faiss, "IO_FLAG_MMAP_IFC", flag)
        try:
            self._index = self._faiss.read_index(str(folder / _FILE), flag)
        except RuntimeError as error:
            raise InputError(
                f"{folder / _FILE} cannot be read: {reason(error)}. Remove {folder} and build again"
            ) from error
        if structure.kind == "ivf" and (structure.nprobe or 1) > self._index.nlist:
            raise UsageError(f"nprobe={structure.nprobe}; there are {self._index.nlist} lists")

    def search(self, asked: Floats, top: int) -> Iterator[Numbers]:
        """For each query the numbers that were found, ascending; at most `top`."""
        faiss, given = self._faiss, self._structure
        asked = np.ascontiguousarray(asked, np.float32)
        with _alone(faiss):
            if given.kind == "hnsw":
                how = faiss.SearchParametersHNSW(efSearch=max(given.ef_search, top))
                found = self._index.search(asked, top, params=how)[1]
            else:
                found = self._in_lists(asked, top)
        for row in found:
            yield np.sort(row[row >= 0]).astype(np.intp)

    def _in_lists(self, asked: Floats, top: int) -> Any:
        """The nearest lists; for queries whose lists hold fewer than `top`, twice as many again."""
        nlist = self._index.nlist
        nprobe = self._structure.nprobe or min(nlist, max(8, nlist // 16))
        found = np.full((len(asked), top), -1, np.int64)
        short = np.arange(len(asked))
        while len(short):
            how = self._faiss.SearchParametersIVF(nprobe=nprobe)
            found[short] = self._index.search(asked[short], top, params=how)[1]
            if nprobe == nlist:
                break
            short = short[(found[short] < 0).any(axis=1)]
            nprobe = min(nlist, 2 * nprobe)
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._index = None


def _made(faiss: Any, vectors: OpenedVectors, structure: Structure) -> Any:
    """An empty index, trained where it has to be."""
    width, metric = vectors.about.width, faiss.METRIC_INNER_PRODUCT
    if structure.kind == "hnsw":
        index = faiss.IndexHNSWFlat(width, structure.m, metric)
        index.hnsw.efConstruction = structure.ef_construction
        return index
    count = len(vectors.rows)
    nlist = structure.lists(count)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, nlist, metric)
    index.cp.seed = _SEED
    index.cp.min_points_per_centroid = 1  # a small corpus is no reason to write to the screen
    draw = np.random.default_rng(_SEED)
    sample = np.sort(draw.choice(count, min(count, _SAMPLE * nlist), replace=False))
    index.train(_floats(vectors, sample))
    return index


def _floats(vectors: OpenedVectors, rows: slice | Numbers) -> Floats:
    return np.ascontiguousarray(vectors.rows[rows], dtype=np.float32)


def _is_whole(folder: Path, vectors: OpenedVectors) -> bool:
    try:
        about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=_About)
        size = (folder / _FILE).stat().st_size
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return (about.format, about.vectors, about.bytes) == (FORMAT, vectors.digest, size)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


@contextmanager
def _alone(faiss: Any) -> Iterator[None]:
    """Each query by itself: products of many at once differ in their last bits."""
    usual = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = _ALONE
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = usual
