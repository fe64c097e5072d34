"""`trueground index`: passages that can be searched, and how well a retriever finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, echo_note, progress_bar
from trueground.options import no_note
from trueground.retrieval import evaluate_index, make_index, search_index

index = typer.Typer(name="index", help="Passages that can be searched: build, search, evaluate.")
IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index.")]


@index.command("build")
@takes(make_index)
def build(
    corpus: Annotated[
        Path, typer.Argument(help="Passages or documents, a file or a folder; or an index.")
    ],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Read passages and build retrievers over them (default: bm25); goes on where it stopped."""
    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        built, whole = make_index(corpus, **options, progress=progress, note=note)
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
@takes(search_index)
def search(
    index: IndexArgument,
    query: Annotated[list[str] | None, typer.Argument(help="What to search for.")] = None,
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Show the passages that are nearest to each query; json: one line for each query."""
    import orjson

    from trueground.reports.listings import render_hits

    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        asked, found = search_index(index, query or (), **options, progress=progress, note=note)
        for question, hits in zip(asked, found, strict=True):
            if format_ is Format.JSON:
                shown = [
                    {
                        "rank": rank,
                        "score": hit.score,
                        "id": passage.id,
                        "title": passage.title,
                        "text": passage.text,
                        "source": passage.source,
                    }
                    for rank, (hit, passage) in enumerate(hits, 1)
                ]
                line = {"id": question.id, "query": question.query, "hits": shown}
                typer.echo(orjson.dumps(line))
            else:
                typer.echo(render_hits(question.query if len(asked) > 1 else None, hits))


@index.command("evaluate")
@takes(evaluate_index)
def evaluate(
    index: IndexArgument,
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Measure recall, success, MRR and nDCG of retrievers against gold passages."""
    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        found = evaluate_index(index, **options, progress=progress, note=note)
    if format_ is Format.JSON:
        echo_json(found.as_dict())
    elif not quiet:
        from trueground.reports.listings import render_evaluated

        typer.echo(render_evaluated(found.results))
