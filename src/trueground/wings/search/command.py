"""`trueground index`: passages that can be searched, and how well a retriever finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.wings.search.operations import evaluate_index, make_index, search_index

index = typer.Typer(name="index", help="Passages that can be searched: build, search, evaluate.")
IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="The folder of an index.")]


@index.command("build")
@takes(make_index)
def build(
    corpus: Annotated[
        Path, typer.Argument(help="Passages or documents, a file or a folder; or an index.")
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Read passages and build retrievers over them (default: bm25); goes on where it stopped."""
    built, whole = screen.call(make_index, corpus, **options)
    told = {"index": str(built.path), "passages": len(built.passages)}
    told |= {"signature": built.signature, "retrievers": whole}
    screen.show(told, lambda: f"{built.path}\n{len(built.passages):,} passages; {', '.join(whole)}")


@index.command("search")
@takes(search_index)
def search(
    index: IndexArgument,
    query: Annotated[list[str] | None, typer.Argument(help="What to search for.")] = None,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Show the passages that are nearest to each query; json: one line for each query."""
    import orjson

    from trueground.wings.search.pages import show_hits

    with screen.progress() as progress:
        asked, found = search_index(
            index, query or (), **options, progress=progress, note=screen.note
        )
        for question, hits in zip(asked, found, strict=True):
            if screen.as_json:
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
                screen.print_page(show_hits(question.query if len(asked) > 1 else None, hits))


@index.command("evaluate")
@takes(evaluate_index)
def evaluate(
    index: IndexArgument,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Measure recall, success, MRR and nDCG of retrievers against gold passages."""
    from trueground.wings.search.pages import show_evaluated

    found = screen.call(evaluate_index, index, **options)
    screen.show_page(found.as_dict(), lambda: show_evaluated(found.results))
