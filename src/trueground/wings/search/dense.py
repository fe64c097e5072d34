"""Dense retrieval: inner products of the vectors that an encoder makes of queries and passages.

`dense:MODEL(passages=MODEL2,index=hnsw)`. Sources: Karpukhin et al. 2020 (DPR), Izacard et al. 2022
(Contriever). The vectors lie in one folder of an index, memory-mapped; an approximate structure of
faiss over them in one beside it: a graph (HNSW: Malkov and Yashunin 2018) or lists (IVF: Johnson,
Douze and Jégou 2021). Structures are built by one thread. With several, HNSW inserts in an order
that differs from run to run, and so does what is found; IVF's k-means sums in another order.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trueground.components import ComponentSpec
from trueground.encoders import BiEncoder, EncoderOptions
from trueground.errors import InputError, MissingExtraError, ProtocolError, UsageError, WriteError
from trueground.execution import cores
from trueground.files import OutputPath, StateFile
from trueground.net import reason
from trueground.options import Progress
from trueground.wings.search.base import Hit, OpenedRetriever, RetrieverKind, turns_of
from trueground.wings.search.store import PassageStore
from trueground.wings.search.vectors import (
    FORMAT,
    STORES,
    Dense,
    Floats,
    Numbers,
    OpenedVectors,
    Vectors,
    nearest,
    open_vectors,
    rounding_margin,
    score_exactly,
    write_vectors,
)

_QUERIES = 1_024  # searched for at once
_ENCODER = ("dtype", "device", "backend", "file", "revision", "batch_rows", "window")
_OF_KIND = {
    "flat": (),
    "hnsw": ("m", "ef_construction", "ef_search"),
    "ivf": ("nlist", "nprobe"),
}
_KNOWN = (
    *("passages", "index", "store", "trust_remote_code", "pooling", "similarity"),
    *(*_ENCODER, *_OF_KIND["hnsw"], *_OF_KIND["ivf"]),
)
# What makes other vectors of the same passages, beside the model.
_KEY = ("store", "pooling", "similarity", "dtype", "backend", "file", "revision", "window")
_FILE, _ABOUT = "index.faiss", "index.json"
_SEED = 0
_ADDED = 16_384  # vectors added to a structure at once
_SAMPLE = 256  # vectors for each list that k-means looks at
_NEVER = 2**31 - 1  # queries from which on faiss would multiply them together


@dataclass(frozen=True)
class _DenseOptions:
    """What was written. `nlist` None: 4·√n; `nprobe` None: a sixteenth of it, at least 8."""

    questions: str
    passages: str
    encoder: EncoderOptions
    store: str
    kind: str
    m: int
    ef_construction: int
    ef_search: int
    nlist: int | None
    nprobe: int | None
    vectors_folder: str

    @property
    def folder(self) -> str:
        """The structure's beside that of the vectors, named by what it is built with."""
        if self.kind == "hnsw":
            return f"{self.vectors_folder}-hnsw-{self.m}-{self.ef_construction}"
        lists = f"-ivf-{self.nlist or 'auto'}" if self.kind == "ivf" else ""
        return f"{self.vectors_folder}{lists}"

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


def _parse(given: ComponentSpec) -> _DenseOptions:
    """UsageError for what cannot be meant."""
    given.check(_KNOWN)
    if given.model is None:
        raise UsageError("the retriever dense needs a model: dense:FOLDER or dense:NAME")
    kind = given.text("index", "flat", _OF_KIND)
    for other, names in _OF_KIND.items():
        if wrong := [name for name in names if name in given.options and other != kind]:
            raise UsageError(
                f"the retriever dense: {wrong[0]} belongs to index={other}, and index is {kind}"
            )
    passages = given.options.get("passages", given.model)
    if passages != given.model and "revision" in given.options:
        raise UsageError(
            "the retriever dense: revision, with two models; write NAME@REVISION for each of them"
        )
    options = EncoderOptions.of(given, vectors=True)
    # The same wherever the model's folder lies, so that an index can be taken elsewhere.
    name = _model_name(passages)
    key = [name, *([option, given.options.get(option)] for option in _KEY)]
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:12]
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[-40:].strip("-")
    return _DenseOptions(
        given.model,
        passages,
        options,
        given.text("store", "float32", STORES),
        kind,
        given.whole("m", 32, 2),
        given.whole("ef_construction", 200),
        given.whole("ef_search", 128),
        given.whole("nlist", 1) if "nlist" in given.options else None,
        given.whole("nprobe", 1) if "nprobe" in given.options else None,
        f"dense-{slug}-{digest}",
    )


def _model_name(model: str) -> str:
    """A name of the Hub as it is; of a folder only its own name."""
    folder = Path(model).expanduser()
    return folder.resolve().name if folder.is_dir() or folder.is_absolute() else model


class DiskDense:
    """Inner products between queries and the vectors of passages; for unit vectors the cosine.

    Flat search is exact. What HNSW and IVF find is scored again from the vectors, so its scores and
    its order are those of the exact search; a smaller `top` need not be the beginning of a larger.
    """

    name = "dense"

    def __init__(
        self,
        vectors: OpenedVectors,
        questions: BiEncoder,
        structure: _Structure | None,
        how: str,
    ) -> None:
        header = vectors.header
        self.signature = (
            f"dense:{how},{header.similarity},{header.store},{header.signature},"
            f"{questions.signature}"
        )
        self.nested = structure is None
        self._vectors, self._questions, self._structure = vectors, questions, structure

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the encoder gives a vector that is none.
        """
        rows: Vectors = self._vectors.rows
        top = min(top, len(rows))
        if top < 1:
            return [[] for _ in queries]
        found: list[list[Hit]] = []
        for start in range(0, len(queries), _QUERIES):
            some = queries[start : start + _QUERIES]
            asked = self._questions.encode_queries([turns_of(query) for query in some])
            if asked.shape != (len(some), rows.shape[1]) or not np.isfinite(asked).all():
                raise ProtocolError(
                    f"the encoder {self._questions.name!r} gave an array of shape {asked.shape} "
                    f"for {len(some)} queries, or numbers that are none; expected {rows.shape[1]} "
                    "finite numbers for each"
                )
            if self._structure is None:
                margin = rounding_margin(asked, self._vectors.header.longest)
                found += nearest(rows, asked, top, margin, cores())
            else:
                near = self._structure.search(asked, top)
                found += [score_exactly(rows, *one, top) for one in zip(near, asked, strict=True)]
        return found


def _build(folder: Path, passages: PassageStore, given: ComponentSpec, progress: Progress) -> None:
    options = _parse(given)
    if options.kind != "flat":
        faiss_module()
        if len(passages):
            options.lists(len(passages))  # said before hours of work, not after them
    place = folder.parent / options.vectors_folder
    try:
        open_vectors(place, passages)
    except InputError:
        with closing(_encoder(options, options.passages, options.encoder.similarity)) as encoder:
            if encoder.only == "questions":
                raise _wrong_half(
                    options.passages, "questions", "name the other with passages=…"
                ) from None
            model = _model_name(options.passages)
            write_vectors(place, passages, encoder, options.store, model, progress)
    if options.kind != "flat":
        _build_structure(folder, open_vectors(place, passages), options, progress)


def _open(folder: Path, passages: PassageStore, given: ComponentSpec) -> OpenedRetriever:
    options = _parse(given)
    place = folder.parent / options.vectors_folder
    vectors = open_vectors(place, passages)
    with ExitStack() as stack:
        questions = _encoder(options, options.questions, vectors.header.similarity)
        stack.callback(questions.close)
        if questions.only == "passages":
            raise _wrong_half(options.questions, "passages", "write dense:QUESTIONS(passages=…)")
        _check_comparable(place, options, vectors, questions)
        structure, how = None, options.signature
        if options.kind != "flat":
            structure = _Structure(folder, vectors, options)
            how += f"+faiss-{faiss_module().__version__}"
        return OpenedRetriever(DiskDense(vectors, questions, structure, how), stack.pop_all().close)


def _check(folder: Path, passages: PassageStore, given: ComponentSpec) -> None:
    """InputError: vectors or the structure over them are missing, cut off, or of other passages."""
    options = _parse(given)
    vectors = open_vectors(folder.parent / options.vectors_folder, passages)
    if options.kind != "flat":
        _check_structure(folder, vectors, options)


def _over(given: ComponentSpec, passages: PassageStore) -> OpenedRetriever:
    given.check(_ENCODER)
    if given.model is None:
        raise UsageError(
            "the retriever dense needs a model, a bi-encoder's folder or name: dense:MODEL"
        )
    encoder = BiEncoder(given.model, EncoderOptions.of(given))
    return OpenedRetriever(Dense(passages.searched, encoder, titled=True), encoder.close)


DENSE_KIND = RetrieverKind(lambda given: _parse(given).folder, _build, _open, _check, _over)


def _encoder(options: _DenseOptions, model: str, similarity: str) -> BiEncoder:
    return BiEncoder(model, replace(options.encoder, similarity=similarity))


def _wrong_half(model: str, half: str, step: str) -> UsageError:
    return UsageError(f"{model} is that one of DPR's two encoders that is for {half}; {step}")


def _check_comparable(
    place: Path, options: _DenseOptions, vectors: OpenedVectors, questions: BiEncoder
) -> None:
    """InputError where the questions' vectors cannot be compared with those that are there.

    An encoder of passages alone is compared only where its folder is here: a search has no need of
    it.
    """
    header = vectors.header
    if len(vectors.rows) and questions.width != header.width:
        raise InputError(
            f"{questions.name} makes vectors of {questions.width} dimensions, and those in {place} "
            f"have {header.width}; name the encoder of questions that belongs to {header.model}"
        )
    space = None
    if options.passages == options.questions:
        space = questions.space
    elif Path(options.passages).expanduser().is_dir():
        with closing(_encoder(options, options.passages, header.similarity)) as encoder:
            space = encoder.space
    if space not in (None, header.space):
        raise InputError(
            f"{place} has vectors of {header.space}, and {options.passages} now makes those of "
            f"{space}. Use the model as it was, or remove {place} and build again"
        )


# --- approximate structures


class _StructureHeader(msgspec.Struct, frozen=True):
    """Of which vectors a structure is, its size, and the faiss that made it."""

    format: int
    vectors: str
    bytes: int
    faiss: str


def faiss_module() -> Any:
    """The module `faiss`. MissingExtraError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of its wrapper's own types
            import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("an approximate index of vectors", "retrieval") from error
    return faiss


def _build_structure(
    folder: Path, vectors: OpenedVectors, options: _DenseOptions, progress: Progress
) -> None:
    """Write the structure over the vectors; at once where it is there. WriteError."""
    faiss, count = faiss_module(), len(vectors.rows)
    if count == 0 or _is_whole(folder, vectors):
        return
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index = _empty_index(faiss, vectors, options)
        for start in range(0, count, _ADDED):
            progress(f"build {options.kind}", start, count)
            index.add(_floats(vectors, slice(start, start + _ADDED)))
        progress(f"build {options.kind}", count, count)
    finally:
        faiss.omp_set_num_threads(threads)
    beside = folder / f"{_FILE}.new"
    try:
        OutputPath(folder).make_directory()
        beside.unlink(missing_ok=True)  # perhaps a link
        faiss.write_index(index, str(beside))
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(folder / _FILE)
        size = (folder / _FILE).stat().st_size
        header = _StructureHeader(FORMAT, vectors.digest, size, faiss.__version__)
        StateFile(folder / _ABOUT).write(header)
    except (OSError, RuntimeError) as error:  # faiss tells of a full disk with the latter
        raise WriteError(f"{folder}: writing the index failed: {reason(error)}") from error


def _empty_index(faiss: Any, vectors: OpenedVectors, options: _DenseOptions) -> Any:
    """Trained where it has to be."""
    width, metric = vectors.header.width, faiss.METRIC_INNER_PRODUCT
    if options.kind == "hnsw":
        index = faiss.IndexHNSWFlat(width, options.m, metric)
        index.hnsw.efConstruction = options.ef_construction
        return index
    count = len(vectors.rows)
    nlist = options.lists(count)
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
        header = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=_StructureHeader)
        size = (folder / _FILE).stat().st_size
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return (header.format, header.vectors, header.bytes) == (FORMAT, vectors.digest, size)


def _check_structure(folder: Path, vectors: OpenedVectors, options: _DenseOptions) -> None:
    if len(vectors.rows) and not _is_whole(folder, vectors):
        raise InputError(
            f"{folder} has no whole index {options.kind} of these vectors; build it with "
            "`trueground index build`"
        )


class _Structure:
    """A structure that was built, mapped from its file."""

    def __init__(self, folder: Path, vectors: OpenedVectors, options: _DenseOptions) -> None:
        """InputError: not there, torn, or of other vectors; UsageError for nprobe above nlist."""
        self._options, self._faiss = options, faiss_module()
        self._index: Any = None
        _check_structure(folder, vectors, options)
        if len(vectors.rows) == 0:
            return
        flag = self._faiss.IO_FLAG_MMAP
        if options.kind == "hnsw":  # the older flag leaves its vectors in memory
            flag = getattr(self._faiss, "IO_FLAG_MMAP_IFC", flag)
        try:
            self._index = self._faiss.read_index(str(folder / _FILE), flag)
        except RuntimeError as error:
            raise InputError(
                f"{folder / _FILE} cannot be read: {reason(error)}. Remove {folder} and build again"
            ) from error
        if options.kind == "ivf" and (options.nprobe or 1) > self._index.nlist:
            raise UsageError(f"nprobe={options.nprobe}; there are {self._index.nlist} lists")

    def search(self, asked: Floats, top: int) -> Iterator[Numbers]:
        """For each query the numbers that were found, ascending; at most `top`."""
        asked = np.ascontiguousarray(asked, np.float32)
        # Each query by itself: products of many at once differ in their last bits.
        settings = self._faiss.cvar
        before = settings.distance_compute_blas_threshold
        settings.distance_compute_blas_threshold = _NEVER
        try:
            if self._options.kind == "hnsw":
                ef = max(self._options.ef_search, top)
                how = self._faiss.SearchParametersHNSW(efSearch=ef)
                found = self._index.search(asked, top, params=how)[1]
            else:
                found = self._search_lists(asked, top)
        finally:
            settings.distance_compute_blas_threshold = before
        for row in found:
            yield np.sort(row[row >= 0]).astype(np.intp)

    def _search_lists(self, asked: Floats, top: int) -> Any:
        """The nearest lists; for queries whose lists hold fewer than `top`, twice as many again."""
        nlist = self._index.nlist
        nprobe = self._options.nprobe or min(nlist, max(8, nlist // 16))
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
