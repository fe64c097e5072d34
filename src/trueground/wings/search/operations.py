"""Retrieval: corpora, indexes, retrievers; building, searching and measuring them."""

# No `from __future__ import annotations`: the command line reads the options here as values.
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from trueground.options import Option, Progress, Resamples, Seed, do_nothing

if TYPE_CHECKING:
    from trueground.types import Passage
    from trueground.wings.search.base import Hit
    from trueground.wings.search.evaluation import IndexEvaluation
    from trueground.wings.search.gold import RetrievalQuestion
    from trueground.wings.search.index import Index

_BATCH = 10_000  # queries that are searched for together
_KS = (1, 5, 20)
Retrievers = Annotated[
    Sequence[str],
    Option(
        (
            'bm25, bm25(k1=0.9), dense:MODEL, hybrid:"A + B", multi-hop:"A" or '
            "file:RESULTS. Repeatable."
        ),
        "--retriever",
        type=list[str] | None,
    ),
]
QueryForm = Annotated[
    Literal["auto", "all", "last"],
    Option(
        (
            "Query for rows with a history. auto: retrieval_query, or all turns. "
            "all: all turns. last: the question."
        ),
        "--retrieval-query",
    ),
]
KeepHits = Annotated[bool, Option("Don't read or write the cache.", "--no-cache")]


def make_index(
    corpus: Path,
    *,
    out: Annotated[
        Path | None, Option("Folder of the index. Default: a folder in $TRUEGROUND_HOME.")
    ] = None,
    retrievers: Retrievers = ("bm25",),
    passage_words: Annotated[int, Option("Maximum words per passage.", min=1)] = 100,
    passage_overlap: Annotated[
        int, Option("Sentences that neighboring passages share.", min=0)
    ] = 0,
    skip_unreadable: Annotated[bool, Option("Skip documents that can't be read.")] = False,
    follow_links: Annotated[bool, Option("Follow links to files outside the folder.")] = False,
    rebuild: Annotated[bool, Option("Rebuild an existing index.")] = False,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "tuple[Index, list[str]]":
    """Make the index of a corpus, go on with it, or add retrievers to the index `corpus`.

    The index, and those of its retrievers whose files are whole. `note` is told of the others, and
    what was left out. Errors as of `index.build_index`; UsageError also for a retriever that needs
    nothing built.
    """
    from shlex import quote

    from trueground.errors import UsageError
    from trueground.wings.search.building import add_retrievers, build_index
    from trueground.wings.search.corpus import CorpusReading
    from trueground.wings.search.index import is_index
    from trueground.wings.search.kinds import bases

    reading = CorpusReading(passage_words, passage_overlap, skip_unreadable, follow_links)
    if found := next((one for one in retrievers if not bases(one)), None):
        raise UsageError(
            f"the retriever {found} needs nothing built; name it where passages are searched for"
        )
    if out is None and is_index(corpus):
        if rebuild or reading != CorpusReading():
            raise UsageError(
                f"{corpus} is an index, to which retrievers are added: --rebuild and how documents "
                "are read belong to a corpus. Leave them out, or name the corpus and --out"
            )
        built = add_retrievers(corpus, retrievers, progress, note=note)
    else:
        built = build_index(corpus, out, retrievers, reading, progress, rebuild=rebuild, note=note)
    damaged = built.damaged()
    for written in damaged:
        note(
            f"the files of {written} are damaged or gone; build them again with: trueground index "
            f"build {built.path} --retriever {quote(written)}"
        )
    return built, [written for written in built.retrievers if written not in damaged]


def search_index(
    index: Path,
    query: Sequence[str] = (),
    *,
    queries: Annotated[
        Path | None,
        Option("File of questions; a .txt file has one query per line."),
    ] = None,
    retriever: Annotated[str | None, Option("Retriever of the index. Default: the first.")] = None,
    retrieval_query: QueryForm = "auto",
    top: Annotated[int, Option("Number of hits per query.", min=1)] = 8,
    cache: KeepHits = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "tuple[list[RetrievalQuestion], Iterator[list[tuple[Hit, Passage]]]]":
    """The questions, and for each its hits with their passages, best first.

    Searched for is `query`, or the file `queries`. The hits are computed as they are read; behind
    the last one files and models are given back, and `note` is told why hits are no longer kept.
    InputError, UsageError, MissingExtraError.
    """
    from trueground.errors import InputError, UsageError
    from trueground.wings.search.base import SearchQuery
    from trueground.wings.search.building import open_index
    from trueground.wings.search.gold import RetrievalQuestion, read_questions

    if (queries is None) == (not query):
        raise UsageError("name what to search for: queries behind INDEX, or --queries FILE")
    if queries is not None:
        asked = read_questions(queries, retrieval_query)
    else:
        asked = [RetrievalQuestion(str(i), SearchQuery(text), "") for i, text in enumerate(query)]
    opened = open_index(index)
    if retriever is None and not opened.retrievers:
        raise InputError(
            f"the index {opened.path} has no retriever yet. Add one with: trueground index build "
            f"{opened.path} --retriever bm25"
        )
    found = opened.open(retriever or opened.retrievers[0], cache=cache, progress=progress)

    def hits() -> "Iterator[list[tuple[Hit, Passage]]]":
        try:
            for start in range(0, len(asked), _BATCH):
                batch = [one.query for one in asked[start : start + _BATCH]]
                for some in found.retriever.search(batch, top):
                    yield [(hit, opened.passages[hit.index]) for hit in some]
        finally:
            found.close()
        if opened.problem:
            note(opened.problem)

    return asked, hits()


def evaluate_index(
    index: Path,
    queries: Annotated[Path, Option("File of questions with gold passages: ids, titles or texts.")],
    *,
    retrievers: Retrievers = (),
    retrieval_query: QueryForm = "auto",
    top: Annotated[int, Option("Number of hits per query.", min=1)] = 100,
    ks: Annotated[
        Sequence[int],
        Option(
            "Number of hits to measure at. Default: 1, 5, 20. Repeatable.",
            "-k",
            type=list[int] | None,
            min=1,
        ),
    ] = (),
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    cache: KeepHits = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "IndexEvaluation":
    """How well retrievers find the gold passages of questions; without names all of the index.

    `note` is told which questions are not measured. InputError, UsageError, MissingExtraError.
    """
    from trueground.errors import InputError
    from trueground.wings.search.building import open_index
    from trueground.wings.search.evaluation import IndexEvaluation, evaluate, format_absent
    from trueground.wings.search.gold import gold_numbers, read_questions

    opened = open_index(index)
    wanted = list(dict.fromkeys(retrievers or opened.retrievers))
    for written in wanted:
        opened.check(written)
    asked = read_questions(queries, retrieval_query)
    gold, absent = gold_numbers(opened.passages, asked)
    if not any(gold):
        raise InputError(
            f"none of the gold passages is in the index {index}; the first is {absent[0]}. Name "
            "ids, titles or texts of its passages"
            if absent
            else f"{queries} names no gold passages; expected a field 'gold' with ids, or contexts "
            "with gold: true"
        )
    measured = sorted(set(ks)) or [number for number in _KS if number <= top]
    texts = [one.query for one in asked]
    results = {}
    for written in wanted:
        found = opened.open(written, cache=cache, progress=progress)
        try:
            results[written] = evaluate(
                found.retriever, texts, gold, measured, top=top, resamples=resamples, seed=seed
            )
        finally:
            found.close()
    if absent:
        note(format_absent(absent))
    if opened.problem:
        note(opened.problem)
    unnamed = sum(not one.gold for one in asked)
    return IndexEvaluation(opened.path, opened.signature, len(asked), unnamed, absent, results)
