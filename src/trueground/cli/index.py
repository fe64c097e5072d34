"""`trueground index`: passages that can be searched, and how well a retriever finds them."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, echo_note, progress_bar, shorten, table
from trueground.options import Resamples, Seed

if TYPE_CHECKING:
    from trueground.retrieval.base import Hit
    from trueground.retrieval.evaluation import Evaluated
    from trueground.retrieval.index import Index
    from trueground.retrieval.questions import RetrievalQuestion

index = typer.Typer(name="index", help="Passages that can be searched: build, search, evaluate.")

_NAMED = 5  # questions that a note names
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


QueryForm = Annotated[
    Literal["auto", "all", "last"],
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

    def note(message: str) -> None:
        if not quiet:
            echo_note(message)

    with progress_bar(quiet or no_progress) as progress:
        if out is None and is_index(corpus):
            _check_only_added(corpus, rebuild or reading != CorpusReading())
            built = add_retrievers(corpus, wanted, progress, note=note)
        else:
            built = build_index(corpus, out, wanted, reading, progress, rebuild=rebuild, note=note)
    damaged = built.damaged()
    for written in damaged:
        note(
            f"the files of {written} are damaged or gone; build them again with: trueground index "
            f"build {built.path} --retriever {quote(written)}"
        )
    whole = [written for written in built.retrievers if written not in damaged]
    if format_ is Format.JSON:
        echo_json(
            {
                "index": str(built.path),
                "passages": len(built.passages),
                "signature": built.signature,
                "retrievers": whole,
            }
        )
    elif not quiet:
        typer.echo(f"{built.path}\n{len(built.passages):,} passages; {', '.join(whole)}")


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
    retrieval_query: QueryForm = "auto",
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
                    _show_hits(opened, one, hits, format_, alone=len(asked) == 1)
        finally:
            found.close()
    if not quiet:
        echo_note(opened.problem)


@index.command("evaluate")
@takes()
def evaluate(
    index: IndexArgument,
    queries: Annotated[
        Path, typer.Option(help="Questions with their gold passages: ids, titles or texts.")
    ],
    retriever: Retrievers = None,
    retrieval_query: QueryForm = "auto",
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
    if not quiet:
        echo_note(_format_absent(absent))
        echo_note(opened.problem)
    if format_ is Format.JSON:
        echo_json(_means_as_json(opened, asked, len(absent), results))
    elif not quiet:
        _show_means(results)


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


def _show_hits(
    opened: Index, question: RetrievalQuestion, hits: list[Hit], format_: Format, *, alone: bool
) -> None:
    """One query's hits: lines for people, or one line of JSON."""
    passages = [opened.passages[hit.index] for hit in hits]
    if format_ is Format.JSON:
        import orjson

        shown = [
            {
                "rank": rank,
                "score": hit.score,
                "id": passage.id,
                "title": passage.title,
                "text": passage.text,
                "source": passage.source,
            }
            for rank, (hit, passage) in enumerate(zip(hits, passages, strict=True), 1)
        ]
        typer.echo(orjson.dumps({"id": question.id, "query": question.query, "hits": shown}))
        return
    if not alone:
        typer.echo(shorten(question.query, 90))
    if not hits:
        typer.echo("nothing found")
    width = max((len(shorten(passage.title or "", 30)) for passage in passages), default=0)
    for rank, (hit, passage) in enumerate(zip(hits, passages, strict=True), 1):
        title = shorten(passage.title or "", 30)
        text = shorten(" ".join(passage.text.split()), 60)
        typer.echo(f"{rank:4}  {hit.score:10.4f}  {title:{width}}  {text}")


def _format_absent(absent: list[str]) -> str | None:
    """Which questions are not measured, in words; None where all are."""
    if not absent:
        return None
    more = f"\n  … and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    lines = "".join(f"\n  {one}" for one in absent[:_NAMED])
    return (
        f"{len(absent)} of the questions are not measured, since the index does not hold their "
        f"gold passage:{lines}{more}"
    )


def _means_as_json(
    opened: Index, questions: list[RetrievalQuestion], absent: int, results: dict[str, Evaluated]
) -> dict[str, Any]:
    """The measures of each retriever, as in a run's summary."""
    unnamed = sum(1 for one in questions if not one.gold)
    unscored = {"missing_field": unnamed, "not_applicable": absent}
    return {
        "index": str(opened.path),
        "signature": opened.signature,
        "n": len(questions),
        "retrievers": {
            written: {
                "signature": one.signature,
                "metrics": {
                    name: {
                        "mean": mean.mean,
                        "ci": mean.ci,
                        "ci_level": mean.ci_level,
                        "n": mean.n,
                        "scored": mean.scored,
                        "unscored": {status: n for status, n in unscored.items() if n},
                    }
                    for name, mean in one.means.items()
                },
            }
            for written, one in results.items()
        },
    }


def _show_means(results: dict[str, Evaluated]) -> None:
    """A table for each retriever."""
    from trueground.reports.terminal import number

    for written, one in results.items():
        rows = [("measure", "mean", "95% interval", "scored", "of")]
        for name, mean in one.means.items():
            interval = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else "–"
            rows.append((name, number(mean.mean), interval, f"{mean.scored:,}", f"{mean.n:,}"))
        typer.echo(f"{written}\n{table(rows)}")
