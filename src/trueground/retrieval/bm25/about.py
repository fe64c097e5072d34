"""Which BM25 index a folder holds, and whether it may be used here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from trueground.errors import InputError, MissingExtraError
from trueground.plugins import PartSpec
from trueground.retrieval.base import Passages

ABOUT = "bm25.json"
_MOST_K1 = 1_000  # far beyond, float32 would round scores to 0


class Options(msgspec.Struct, frozen=True):
    """What fixes the files of an index, besides its passages."""

    stem: bool = True
    k1: float = 1.5
    b: float = 0.75


class Bm25Header(msgspec.Struct, frozen=True):
    """What an index says of itself: of which passages, with which options, and how large it is.

    `stemmer`: the library of the stems with its major and minor version; None without stems.
    """

    passages_sha256: str
    passages: int
    terms: int
    postings: int
    options: Options
    stemmer: str | None
    words: str = "words-1"
    scores: str = "bm25-lucene-1"
    layout: str = "bm25s-0.3"


def options_of(given: PartSpec) -> Options:
    """UsageError for an option that is not known or a value that cannot be meant."""
    given.check(("stem", "k1", "b"), model=False)
    default = Options()
    stem = given.text("stem", "true", ("true", "false")) == "true"
    k1, b = given.number("k1", default.k1, 0), given.number("b", default.b, 0)
    if k1 is None or k1 > _MOST_K1:
        raise given.refused("k1", f"a number from 0 to {_MOST_K1}")
    if b is None or b > 1:
        raise given.refused("b", "a number from 0 to 1")
    return Options(stem, k1 + 0.0, b + 0.0)


def check_about(folder: Path, passages: Passages, options: Options) -> Bm25Header:
    """What the index says, if it is for these passages and options. InputError."""
    again = "delete the folder and build it again"
    path = folder / ABOUT
    try:
        about = msgspec.json.decode(path.read_bytes(), type=Bm25Header)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{folder} holds no readable bm25 index ({error}); {again}") from error
    if (about.passages_sha256, about.passages) != (passages.sha256, len(passages)):
        raise InputError(
            f"{folder} was made for {about.passages:,} other passages "
            f"(sha256 {about.passages_sha256[:12]}…, here {passages.sha256[:12]}…); {again}"
        )
    stemmer = stemmer_here() if options.stem else None
    ours = Bm25Header(passages.sha256, len(passages), about.terms, about.postings, options, stemmer)
    for name in ("options", "stemmer", "words", "scores", "layout"):
        found, expected = getattr(about, name), getattr(ours, name)
        if found != expected:
            raise InputError(
                f"{folder} was made with {name} {found}, and {expected} is needed here; {again}"
            )
    return about


def stemmer_here() -> str:
    """PyStemmer with its major and minor version: others may cut words differently."""
    try:
        return "PyStemmer-" + ".".join(version("PyStemmer").split(".")[:2])
    except PackageNotFoundError:
        raise MissingExtraError("retrieval by BM25 with stems", "retrieval") from None
