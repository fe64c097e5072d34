"""Dense retrieval over the passages of an index: `dense:MODEL(passages=MODEL2,index=hnsw)`.

Sources: Karpukhin et al. 2020 (DPR), Izacard et al. 2022 (Contriever). The vectors lie in one
folder, memory-mapped; a faiss structure over them in one beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from trueground.encoders import EncoderOptions, PassageEncoder, passage_encoder
from trueground.encoders.base import POOLINGS, encoder_options
from trueground.encoders.tiles import cores
from trueground.errors import InputError, ProtocolError, UsageError
from trueground.options import Progress
from trueground.plugins import PartSpec
from trueground.retrieval.base import Hit, OpenedRetriever, Passages, RetrieverKind, turns_of
from trueground.retrieval.dense.exact import exactly, nearest, slack
from trueground.retrieval.dense.faiss_files import (
    Structure,
    Structured,
    build_structure,
    check_structure,
    library,
)
from trueground.retrieval.dense.vectors_file import STORES, are_whole, open_vectors, write_vectors
from trueground.retrieval.dense.vectors_file import OpenedVectors as Vectors

_BLOCK = 8_192  # passages whose products are in memory at once, for each thread
_QUERIES = 1_024
_ENCODER = ("dtype", "device", "backend", "file", "revision", "batch_rows", "window")
_OF_ENCODER = (*_ENCODER, "trust_remote_code", "pooling", "similarity")
_OF_KIND = {
    "flat": (),
    "hnsw": ("m", "ef_construction", "ef_search"),
    "ivf": ("nlist", "nprobe"),
}
_KNOWN = ("passages", "index", "store", *_OF_ENCODER, *_OF_KIND["hnsw"], *_OF_KIND["ivf"])
# What makes other vectors of the same passages, beside the model.
_KEY = ("store", "pooling", "similarity", "dtype", "backend", "file", "revision", "window")


@dataclass(frozen=True)
class _SearchRequest:
    questions: str
    passages: str
    options: EncoderOptions
    store: str
    structure: Structure


class DiskDense:
    """Inner products between queries and the vectors of passages; for unit vectors the cosine.

    Flat search is exact. What HNSW and IVF find is scored again from the vectors, so its scores and
    its order are those of the exact search; a smaller `top` need not be the beginning of a larger.
    """

    name = "dense"

    def __init__(
        self, vectors: Vectors, questions: PassageEncoder, structured: Structured | None, how: str
    ) -> None:
        about = vectors.about
        self.signature = (
            f"dense:{how},{about.similarity},{about.store},{about.signature},{questions.signature}"
        )
        self.nested = structured is None
        self._vectors = vectors
        self._questions = questions
        self._structured = structured

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the encoder gives a vector that is none.
        """
        top = min(top, len(self._vectors.rows))
        if top < 1:
            return [[] for _ in queries]
        return [
            hits
            for start in range(0, len(queries), _QUERIES)
            for hits in self._found(list(queries[start : start + _QUERIES]), top)
        ]

    def _found(self, queries: list[str], top: int) -> list[list[Hit]]:
        asked = self._questions.encode_queries([turns_of(query) for query in queries])
        rows = self._vectors.rows
        if asked.shape != (len(queries), rows.shape[1]) or not np.isfinite(asked).all():
            raise ProtocolError(
                f"the encoder {self._questions.name!r} gave an array of shape {asked.shape} for "
                f"{len(queries)} queries, or numbers that are none; expected {rows.shape[1]} "
                "finite numbers for each"
            )
        if self._structured is None:
            margin = slack(asked, self._vectors.about.longest)
            return list(nearest(rows, asked, top, margin, _BLOCK, cores()))
        found = self._structured.search(asked, top)
        return [exactly(rows, numbers, q, top) for numbers, q in zip(found, asked, strict=True)]


def _folder(given: PartSpec) -> str:
    asked = _read(given)
    return _vectors_folder(given, asked) + asked.structure.files


def _build(folder: Path, passages: Passages, given: PartSpec, progress: Progress) -> None:
    asked = _read(given)
    if asked.structure.kind != "flat":
        library()
        if len(passages):
            asked.structure.lists(len(passages))  # said before hours of work, not after them
    place = folder.parent / _vectors_folder(given, asked)
    if not are_whole(place, passages):
        with closing(_passages_encoder(asked)) as encoder:
            write_vectors(place, passages, encoder, asked.store, _named(asked.passages), progress)
    if asked.structure.kind != "flat":
        build_structure(folder, open_vectors(place, passages), asked.structure, progress)


def _open(folder: Path, passages: Passages, given: PartSpec) -> OpenedRetriever:
    asked = _read(given)
    place = folder.parent / _vectors_folder(given, asked)
    vectors = open_vectors(place, passages)
    with ExitStack() as stack:
        questions = _encoder(asked.questions, asked, vectors.about.similarity)
        stack.callback(questions.close)
        if questions.only == "passages":
            raise _wrong_half(asked.questions, "passages", "write dense:QUESTIONS(passages=…)")
        _check_same(place, asked, vectors, questions)
        structured, how = None, asked.structure.signature
        if asked.structure.kind != "flat":
            structured = Structured(folder, vectors, asked.structure)
            stack.callback(structured.close)
            how += f"+faiss-{library().__version__}"
        return OpenedRetriever(
            DiskDense(vectors, questions, structured, how), stack.pop_all().close
        )


def _check(folder: Path, passages: Passages, given: PartSpec) -> None:
    """InputError: vectors or the structure over them are missing, cut off, or of other passages."""
    asked = _read(given)
    vectors = open_vectors(folder.parent / _vectors_folder(given, asked), passages)
    if asked.structure.kind != "flat":
        check_structure(folder, vectors, asked.structure)


DENSE_KIND = RetrieverKind(_folder, _build, _open, _check)


def _read(given: PartSpec) -> _SearchRequest:
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
    options = replace(
        encoder_options(given),
        pooling=given.text("pooling", "", POOLINGS) if "pooling" in given.options else None,
        similarity=given.text("similarity", "auto", ("cosine", "dot", "auto")),
    )
    structure = Structure(
        kind,
        given.whole("m", 32, 2),
        given.whole("ef_construction", 200),
        given.whole("ef_search", 128),
        given.whole("nlist", 1) if "nlist" in given.options else None,
        given.whole("nprobe", 1) if "nprobe" in given.options else None,
    )
    store = given.text("store", "float32", STORES)
    return _SearchRequest(given.model, passages, options, store, structure)


def _vectors_folder(given: PartSpec, asked: _SearchRequest) -> str:
    """The same wherever the model's folder lies, so that an index can be taken elsewhere."""
    name = _named(asked.passages)
    key = [name, *([option, given.options.get(option)] for option in _KEY)]
    digest = hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:12]
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[-40:].strip("-")
    return f"dense-{slug}-{digest}"


def _named(model: str) -> str:
    """A name of the Hub as it is; of a folder only its own name."""
    folder = Path(model).expanduser()
    return folder.resolve().name if folder.is_dir() or folder.is_absolute() else model


def _encoder(model: str, asked: _SearchRequest, similarity: str) -> PassageEncoder:
    return passage_encoder(model, replace(asked.options, similarity=similarity))


def _passages_encoder(asked: _SearchRequest) -> PassageEncoder:
    encoder = _encoder(asked.passages, asked, asked.options.similarity)
    if encoder.only == "questions":
        encoder.close()
        raise _wrong_half(asked.passages, "questions", "name the other with passages=…")
    return encoder


def _wrong_half(model: str, half: str, step: str) -> UsageError:
    return UsageError(f"{model} is that one of DPR's two encoders that is for {half}; {step}")


def _check_same(
    place: Path, asked: _SearchRequest, vectors: Vectors, questions: PassageEncoder
) -> None:
    """InputError where the questions' vectors cannot be compared with those that are there.

    An encoder of passages alone is compared only where its folder is here: a search has no need of
    it.
    """
    about = vectors.about
    if len(vectors.rows) and questions.width != about.width:
        raise InputError(
            f"{questions.name} makes vectors of {questions.width} dimensions, and those in {place} "
            f"have {about.width}; name the encoder of questions that belongs to {about.model}"
        )
    space = _space(asked, about.similarity, questions)
    if space not in (None, about.space):
        raise InputError(
            f"{place} has vectors of {about.space}, and {asked.passages} now makes those of "
            f"{space}. Use the model as it was, or remove {place} and build again"
        )


def _space(asked: _SearchRequest, similarity: str, questions: PassageEncoder) -> str | None:
    """What the vectors of the passages' encoder can be compared with; None if it is not here."""
    if asked.passages == asked.questions:
        return questions.space
    if not Path(asked.passages).expanduser().is_dir():
        return None
    with closing(_encoder(asked.passages, asked, similarity)) as encoder:
        return encoder.space
