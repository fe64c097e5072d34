"""The command `trueground index`: build, search and evaluate indexes of passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.wings.search.operations import evaluate_index, make_index, search_index

if TYPE_CHECKING:
    from trueground.types import Passage
    from trueground.wings.search.base import Hit

index = typer.Typer(name="index", help="Build, search and evaluate indexes of passages.")
IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of an index.")]


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
    """Build an index of passages, or resume building one.

    The default retriever is bm25.
    """
    built, retrievers = screen.call(make_index, corpus, **options)
    result = {
        "index": str(built.path),
        "passages": len(built.passages),
        "signature": built.signature,
        "retrievers": retrievers,
    }
    names = ", ".join(retrievers)
    screen.show(result, lambda: f"{built.path}\n{len(built.passages):,} passages; {names}")


@index.command("search")
@takes(search_index)
def search(
    index: IndexArgument,
    query: Annotated[list[str] | None, typer.Argument(help="Queries.")] = None,
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Show the best passages for each query. JSON has one line per query."""
    import orjson

    from trueground.wings.search.pages import show_hits

    with screen.progress() as progress:
        questions, results = search_index(
            index, query or (), **options, progress=progress, note=screen.note
        )
        for question, hits in zip(questions, results, strict=True):
            if screen.as_json:
                line = {"id": question.id, "query": question.query, "hits": _as_json(hits)}
                typer.echo(orjson.dumps(line))
            else:
                title = question.query if len(questions) > 1 else None
                screen.print_page(show_hits(title, hits))


def _as_json(hits: Sequence[tuple[Hit, Passage]]) -> list[dict[str, Any]]:
    """Return hits with their passages as JSON objects."""
    objects = []
    for rank, (hit, passage) in enumerate(hits, 1):
        fields = {
            "rank": rank,
            "score": hit.score,
            "id": passage.id,
            "title": passage.title,
            "text": passage.text,
            "source": passage.source,
        }
        objects.append(fields)
    return objects


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

    evaluation = screen.call(evaluate_index, index, **options)
    screen.show_page(evaluation.as_dict(), lambda: show_evaluated(evaluation.results))
