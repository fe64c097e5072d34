"""`trueground index`: passages that can be searched, and how well a retriever finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.wings.search.operations import evaluate_index, make_index, search_index

index = typer.Typer(name="index", help="Build, search and evaluate passage indexes.")
IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of the index.")]


@index.command("build")
@takes(make_index)
def build(
    corpus: Annotated[
        Path, typer.Argument(help="File or folder of passages or documents, or an index.")
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Build an index of passages.

    The default retriever is bm25. Rerun to resume.
    """
    built, whole = screen.call(make_index, corpus, **options)
    told = {"index": str(built.path), "passages": len(built.passages)}
    told |= {"signature": built.signature, "retrievers": whole}
    screen.show(told, lambda: f"{built.path}\n{len(built.passages):,} passages; {', '.join(whole)}")


@index.command("search")
@takes(search_index)
def search(
    index: IndexArgument,
    query: Annotated[list[str] | None, typer.Argument(help="Query text.")] = None,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Search an index.

    With --format json, prints one line per query.
    """
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
    """Evaluate retrievers against gold passages.

    Reports recall, success, MRR and nDCG.
    """
    from trueground.wings.search.pages import show_evaluated

    found = screen.call(evaluate_index, index, **options)
    screen.show_page(found.as_dict(), lambda: show_evaluated(found.results))
