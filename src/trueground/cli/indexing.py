"""`trueground index`: passages that can be searched, and how well a retriever finds them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli.index_shown import means_as_json, show_hits, show_means, told_absent
from trueground.cli.options import Format, FormatOption, NoProgress, Quiet, Resamples, Seed
from trueground.cli.progress import progress_bar

if TYPE_CHECKING:
    from trueground.retrieval.evaluation import Evaluated
    from trueground.retrieval.index import Index
    from trueground.retrieval.questions import RetrievalQuestion

index = typer.Typer(name="index", help="Passages that can be searched: build, search, evaluate.")

_BATCH = 10_000  # queries whose hits are printed together
_KS = (1, 5, 20)
IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index.")]
Retrievers = Annotated[
    list[str] | None,
    typer.Option(
        "--retriever",
        help='bm25, dense:MODEL, hybrid:"A + B" or multi-hop:"A", with options behind: '
        "bm25(k1=0.9); file:RESULTS, found elsewhere. Repeatable.",
    ),
]


class Form(StrEnum):
    """What of a conversation is searched for."""

    AUTO = "auto"
    ALL = "all"
    LAST = "last"


QueryForm = Annotated[
    Form,
    typer.Option(
        "--retrieval-query",
        help="What is searched for where a row has a history: auto (its retrieval_query, or else "
        "all turns), all (turns), last (the question alone).",
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Search again, and keep nothing of what is found.")
]


@index.command("build")
def build(
    corpus: Annotated[
        Path, typer.Argument(help="Passages or documents, a file or a folder; or an index.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The folder of the index. Default: one under $TRUEGROUND_HOME."),
    ] = None,
    retriever: Retrievers = None,
    passage_words: Annotated[
        int, typer.Option(min=1, help="Words of the passages that documents are cut into.")
    ] = 100,
    passage_overlap: Annotated[
        int, typer.Option(min=0, help="Sentences that a passage shares with the one before.")
    ] = 0,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave out documents that cannot be read.")
    ] = False,
    follow_links: Annotated[
        bool,
        typer.Option("--follow-links", help="Read also what links lead to out of the folder."),
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make an index that is there anew.")
    ] = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Read passages and build retrievers over them (default: bm25); goes on where it stopped."""
    from trueground.errors import UsageError
    from trueground.retrieval.corpora.reading import CorpusReading
    from trueground.retrieval.index import add_retrievers, build_index, is_index
    from trueground.retrieval.kinds import bases

    reading = CorpusReading(passage_words, passage_overlap, skip_unreadable, follow_links)
    wanted = retriever or ["bm25"]
    if found := next((one for one in wanted if not bases(one)), None):
        raise UsageError(
            f"the retriever {found} needs nothing built; name it where passages are searched for"
        )

    def note(said: str) -> None:
        _warn(said, quiet)

    with progress_bar(quiet or no_progress) as progress:
        if out is None and is_index(corpus):
            _check_only_added(corpus, rebuild or reading != CorpusReading())
            made = add_retrievers(corpus, wanted, progress, note=note)
        else:
            made = build_index(corpus, out, wanted, reading, progress, rebuild=rebuild, note=note)
    damaged = made.damaged()
    for written in damaged:
        note(
            f"the files of {written} are damaged or gone; build them again with: trueground index "
            f"build {made.path} --retriever {quote(written)}"
        )
    whole = [written for written in made.retrievers if written not in damaged]
    if format_ is Format.JSON:
        _echo_json(
            {
                "index": str(made.path),
                "passages": len(made.passages),
                "signature": made.signature,
                "retrievers": whole,
            }
        )
    elif not quiet:
        typer.echo(f"{made.path}\n{len(made.passages):,} passages; {', '.join(whole)}")


@index.command("search")
def search(
    index: IndexArgument,
    query: Annotated[list[str] | None, typer.Argument(help="What to search for.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="A file of questions, or of one query a line if it ends in .txt."),
    ] = None,
    retriever: Annotated[
        str | None, typer.Option(help="One whose files the index has. Default: its first.")
    ] = None,
    retrieval_query: QueryForm = Form.AUTO,
    top: Annotated[int, typer.Option(min=1, help="Hits for each query.")] = 8,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Show the passages that are nearest to each query; json: one line for each query."""
    from trueground.retrieval.index import open_index

    asked = _queries(query, queries, retrieval_query)
    opened = open_index(index)
    with progress_bar(quiet or no_progress) as progress:
        found = opened.open(_named(opened, retriever), cache=not no_cache, progress=progress)
        try:
            for start in range(0, len(asked), _BATCH):
                batch = asked[start : start + _BATCH]
                for one, hits in zip(
                    batch,
                    found.retriever.search([each.query for each in batch], top),
                    strict=True,
                ):
                    show_hits(opened, one, hits, format_, alone=len(asked) == 1)
        finally:
            found.close()
    _warn(opened.problem, quiet)


@index.command("evaluate")
def evaluate(
    index: IndexArgument,
    queries: Annotated[
        Path, typer.Option(help="Questions with their gold passages: ids, titles or texts.")
    ],
    retriever: Retrievers = None,
    retrieval_query: QueryForm = Form.AUTO,
    top: Annotated[int, typer.Option(min=1, help="Hits that are searched for.")] = 100,
    k: Annotated[
        list[int] | None,
        typer.Option(
            "-k", min=1, help="At how many hits to measure; default 1, 5, 20. Repeatable."
        ),
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Measure recall, success, MRR and nDCG of retrievers against gold passages."""
    from trueground.errors import InputError
    from trueground.retrieval.evaluation import evaluate as measure
    from trueground.retrieval.index import open_index
    from trueground.retrieval.questions import gold_numbers, read_questions

    opened = open_index(index)
    wanted = list(dict.fromkeys(retriever or opened.retrievers))
    for written in wanted:
        opened.check(written)
    asked = read_questions(queries, retrieval_query)
    gold, absent = gold_numbers(opened.passages, asked)
    if not any(gold):
        raise InputError(_no_gold(index, queries, absent))
    ks = sorted(set(k)) if k else [number for number in _KS if number <= top]
    results: dict[str, Evaluated] = {}
    with progress_bar(quiet or no_progress) as progress:
        for written in wanted:
            found = opened.open(written, cache=not no_cache, progress=progress)
            try:
                results[written] = measure(
                    found.retriever,
                    [one.query for one in asked],
                    gold,
                    ks,
                    top=top,
                    resamples=resamples,
                    seed=seed,
                )
            finally:
                found.close()
    _warn(told_absent(absent), quiet)
    _warn(opened.problem, quiet)
    if format_ is Format.JSON:
        _echo_json(means_as_json(opened, asked, len(absent), results))
    elif not quiet:
        show_means(results)


def _check_only_added(index: Path, read_anew: bool) -> None:
    from trueground.errors import UsageError

    if read_anew:
        raise UsageError(
            f"{index} is an index, to which retrievers are added: --rebuild and how documents are "
            "read belong to a corpus. Leave them out, or name the corpus and --out"
        )


def _queries(query: list[str] | None, queries: Path | None, form: str) -> list[RetrievalQuestion]:
    from trueground.errors import UsageError
    from trueground.retrieval.base import SearchQuery
    from trueground.retrieval.questions import RetrievalQuestion, read_questions

    if (queries is None) == (not query):
        raise UsageError("name what to search for: queries behind INDEX, or --queries FILE")
    if queries is not None:
        return read_questions(queries, form)
    return [
        RetrievalQuestion(str(number), SearchQuery(text), "")
        for number, text in enumerate(query or ())
    ]


def _named(opened: Index, retriever: str | None) -> str:
    from trueground.errors import InputError

    if retriever is not None:
        return retriever
    if not opened.retrievers:
        raise InputError(
            f"the index {opened.path} has no retriever yet. Add one with: trueground index build "
            f"{opened.path} --retriever bm25"
        )
    return opened.retrievers[0]


def _no_gold(index: Path, queries: Path, absent: list[str]) -> str:
    if not absent:
        return (
            f"{queries} names no gold passages; expected a field 'gold' with ids, or contexts with "
            "gold: true"
        )
    return (
        f"none of the gold passages is in the index {index}; the first is {absent[0]}. Name ids, "
        "titles or texts of its passages"
    )


def _warn(problem: str | None, quiet: bool) -> None:
    if problem is not None and not quiet:
        typer.echo(f"trueground: {problem}", err=True)


def _echo_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
