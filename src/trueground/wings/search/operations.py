"""Build, search and evaluate an index."""

# No `from __future__ import annotations`: the command line reads the annotations as values.
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

_QUERIES_PER_BATCH = 10_000
_DEFAULT_KS = (1, 5, 20)
Retrievers = Annotated[
    Sequence[str],
    Option(
        'bm25, dense:MODEL, hybrid:"A + B", multi-hop:"A" or file:RESULTS, with options as in '
        "bm25(k1=0.9). Repeatable.",
        "--retriever",
        type=list[str] | None,
    ),
]
QueryForm = Annotated[
    Literal["auto", "all", "last"],
    Option(
        "Query of a row with a history: auto (its retrieval_query, else all turns), all (turns) "
        "or last (question only).",
        "--retrieval-query",
    ),
]
KeepHits = Annotated[
    bool, Option("Search again, without reading or writing the cache.", "--no-cache")
]


def make_index(
    corpus: Path,
    *,
    out: Annotated[
        Path | None, Option("Folder of the index. Default: a folder in $TRUEGROUND_HOME.")
    ] = None,
    retrievers: Retrievers = ("bm25",),
    passage_words: Annotated[
        int, Option("Words per passage when documents are split.", min=1)
    ] = 100,
    passage_overlap: Annotated[
        int, Option("Sentences that a passage repeats from the one before.", min=0)
    ] = 0,
    skip_unreadable: Annotated[bool, Option("Leave out documents that can't be read.")] = False,
    follow_links: Annotated[
        bool, Option("Follow symbolic links that lead out of the folder.")
    ] = False,
    rebuild: Annotated[bool, Option("Rebuild an existing index.")] = False,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "tuple[Index, list[str]]":
    """Build the index of a corpus, resume it, or add retrievers to an index.

    Args:
        corpus: The corpus, or an index.
        out: The folder of the index. Default: a folder in $TRUEGROUND_HOME.
        retrievers: The retrievers to build, as a user writes them.
        passage_words: The approximate number of words per passage of a document.
        passage_overlap: The number of sentences that a passage repeats from the one before.
        skip_unreadable: Leave out documents that can't be read, with a warning.
        follow_links: Follow links that lead out of the folder.
        rebuild: Rebuild an existing index.
        progress: Called with the progress of the work.
        note: Called with warnings: what was left out, damaged retrievers.

    Returns:
        The index, and its retrievers whose files are complete.

    Raises:
        InputError: The corpus can't be read, or isn't the one of the index.
        OutputError: The folder has other files.
        UsageError: Options don't fit together, or a retriever needs no files.
        MissingExtraError: An optional package is missing.
        WriteError: The index can't be written.
    """
    from shlex import quote

    from trueground.errors import UsageError
    from trueground.wings.search.building import add_retrievers, build_index
    from trueground.wings.search.corpus import CorpusReading
    from trueground.wings.search.index import is_index
    from trueground.wings.search.kinds import bases

    reading = CorpusReading(passage_words, passage_overlap, skip_unreadable, follow_links)
    for retriever in retrievers:
        if not bases(retriever):
            raise UsageError(
                f"the retriever {retriever} has no files to build; use it to search, with "
                "trueground index search"
            )
    if out is None and is_index(corpus):
        if rebuild or reading != CorpusReading():
            raise UsageError(
                f"{corpus} is an index, but --rebuild and the options for documents need a "
                "corpus. Leave them out, or name the corpus and --out"
            )
        built = add_retrievers(corpus, retrievers, progress, note=note)
    else:
        built = build_index(corpus, out, retrievers, reading, progress, rebuild=rebuild, note=note)
    damaged = built.damaged()
    for retriever in damaged:
        note(
            f"the files of {retriever} are damaged or missing; rebuild them with: trueground index "
            f"build {built.path} --retriever {quote(retriever)}"
        )
    return built, [retriever for retriever in built.retrievers if retriever not in damaged]


def search_index(
    index: Path,
    query: Sequence[str] = (),
    *,
    queries: Annotated[
        Path | None,
        Option("File of questions. A .txt file has one query per line."),
    ] = None,
    retriever: Annotated[
        str | None, Option("Retriever of the index. Default: the first one.")
    ] = None,
    retrieval_query: QueryForm = "auto",
    top: Annotated[int, Option("Hits per query.", min=1)] = 8,
    cache: KeepHits = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "tuple[list[RetrievalQuestion], Iterator[list[tuple[Hit, Passage]]]]":
    """Search an index.

    Args:
        index: The folder of the index.
        query: The queries.
        queries: A file of questions, instead of `query`.
        retriever: The retriever, as a user writes it. Default: the first one of the index.
        retrieval_query: The part of a conversation that is the query.
        top: The maximum number of hits per query.
        cache: Whether hits are cached.
        progress: Called with the number of finished queries.
        note: Called with warnings.

    Returns:
        The questions, and an iterator over their hits with passages, best first. The iterator
        searches while it is read. At its end, files and models are closed.

    Raises:
        InputError: The index or the questions can't be read.
        UsageError: The retriever isn't valid, or there is no query.
        MissingExtraError: An optional package is missing.
    """
    from trueground.errors import InputError, UsageError
    from trueground.wings.search.base import SearchQuery
    from trueground.wings.search.building import open_index
    from trueground.wings.search.gold import RetrievalQuestion, read_questions

    if (queries is None) == (not query):
        raise UsageError("expected queries after INDEX, or --queries FILE")
    if queries is not None:
        questions = read_questions(queries, retrieval_query)
    else:
        questions = [
            RetrievalQuestion(str(i), SearchQuery(text), "") for i, text in enumerate(query)
        ]
    opened = open_index(index)
    if retriever is None and not opened.retrievers:
        raise InputError(
            f"the index {opened.path} has no retriever yet. Add one with: trueground index build "
            f"{opened.path} --retriever bm25"
        )
    opened_retriever = opened.open(
        retriever or opened.retrievers[0], cache=cache, progress=progress
    )

    def search() -> "Iterator[list[tuple[Hit, Passage]]]":
        try:
            for start in range(0, len(questions), _QUERIES_PER_BATCH):
                batch = questions[start : start + _QUERIES_PER_BATCH]
                texts = [question.query for question in batch]
                for hits in opened_retriever.retriever.search(texts, top):
                    yield [(hit, opened.passages[hit.index]) for hit in hits]
        finally:
            opened_retriever.close()
        if opened.problem:
            note(opened.problem)

    return questions, search()


def evaluate_index(
    index: Path,
    queries: Annotated[Path, Option("Questions with gold passages: ids, titles or texts.")],
    *,
    retrievers: Retrievers = (),
    retrieval_query: QueryForm = "auto",
    top: Annotated[int, Option("Hits per query.", min=1)] = 100,
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
    """Measure how well retrievers find the gold passages of questions.

    Args:
        index: The folder of the index.
        queries: A file of questions with their gold passages.
        retrievers: The retrievers, as a user writes them. Default: all retrievers of the index.
        retrieval_query: The part of a conversation that is the query.
        top: The number of hits per query.
        ks: The numbers of hits to measure at.
        seed: The seed of the bootstrap.
        resamples: The number of bootstrap resamples.
        cache: Whether hits are cached.
        progress: Called with the number of finished queries.
        note: Called with warnings, such as questions that aren't measured.

    Returns:
        The measures of each retriever.

    Raises:
        InputError: The index or the questions can't be read, or no gold passage is in the index.
        UsageError: A retriever isn't valid, or a k is above `top`.
        MissingExtraError: An optional package is missing.
    """
    from trueground.errors import InputError
    from trueground.wings.search.building import open_index
    from trueground.wings.search.evaluation import IndexEvaluation, evaluate, format_absent
    from trueground.wings.search.gold import gold_numbers, read_questions

    opened = open_index(index)
    names = list(dict.fromkeys(retrievers or opened.retrievers))
    for name in names:
        opened.check(name)
    questions = read_questions(queries, retrieval_query)
    gold, absent = gold_numbers(opened.passages, questions)
    if not any(gold) and absent:
        raise InputError(
            f"none of the gold passages is in the index {index}; the first is {absent[0]}. "
            "Expected ids, titles or texts of its passages"
        )
    if not any(gold):
        raise InputError(
            f"{queries} has no gold passages; expected a field 'gold' with ids, or contexts with "
            "gold: true"
        )
    measured = sorted(set(ks)) or [number for number in _DEFAULT_KS if number <= top]
    texts = [question.query for question in questions]
    results = {}
    for name in names:
        opened_retriever = opened.open(name, cache=cache, progress=progress)
        try:
            results[name] = evaluate(
                opened_retriever.retriever,
                texts,
                gold,
                measured,
                top=top,
                resamples=resamples,
                seed=seed,
            )
        finally:
            opened_retriever.close()
    if absent:
        note(format_absent(absent))
    if opened.problem:
        note(opened.problem)
    unnamed = sum(not question.gold for question in questions)
    return IndexEvaluation(opened.path, opened.signature, len(questions), unnamed, absent, results)
