"""The options of steps 1 and 2 of `build grounding`: documents, sets, questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from trueground.benchmarks.base import BenchmarkOption, Value
from trueground.benchmarks.values import number_of, path_of, share_of, text_of, whole_of
from trueground.builders.base import Role

LINKS = "links"
NUMBERS = ("popularity", "views", "pageviews")
PROMPTS = ("candidates", "classify")
ROLES = (
    Role("writer", "who writes questions and answers"),
    Role("judge", "who classifies and rates the questions; best another model than the writer."),
)
OPTIONS = (
    BenchmarkOption(
        "popularity-field",
        None,
        "which field holds the number of a document's popularity; links: how many other documents "
        f"link to it. Default: the first there is of {', '.join(NUMBERS)}",
    ),
    BenchmarkOption(
        "popularity-share", "0.3", "share of the documents that are popular, and unpopular"
    ),
    BenchmarkOption(
        "meta", None, "file of rows {path, id or title; a number of popularity; links} of documents"
    ),
    BenchmarkOption("hops", "3", "most links between two documents that are asked about together"),
    BenchmarkOption(
        "sets", None, "most document sets of each class (popularity, one document or two)"
    ),
    BenchmarkOption("context-words", "250", "words of a document's passage, at most"),
    BenchmarkOption("max-document-words", "20000", "longer documents are left out"),
    BenchmarkOption("candidates", "10", "question-answer pairs to write for a document set"),
    BenchmarkOption("min-quality", "3", "least quality (1-5) that the judge must give a question"),
)
_HALF = 0.5
_BEST = 5
_MOST_CANDIDATES = 50


@dataclass(frozen=True)
class Choosing:
    """The options as what they mean. `share` is exact: 0.3 of ten are three. `sets` None: all."""

    popularity_field: str | None
    share: Decimal
    meta: Path | None
    hops: int
    sets: int | None
    context_words: int
    max_document_words: int
    candidates: int
    min_quality: int


def settle(options: Mapping[str, Value]) -> Choosing:
    """The options of steps 1 and 2. UsageError: a value that cannot be meant."""
    return Choosing(
        popularity_field=text_of(options, "popularity-field"),
        share=Decimal(str(share_of(options, "popularity-share", _HALF, zero=False))),
        meta=path_of(options, "meta"),
        hops=whole_of(options, "hops", 1),
        sets=number_of(options, "sets", 1),
        context_words=whole_of(options, "context-words", 20),
        max_document_words=whole_of(options, "max-document-words", 20),
        candidates=whole_of(options, "candidates", 1, _MOST_CANDIDATES),
        min_quality=whole_of(options, "min-quality", 1, _BEST),
    )
