"""`trueground graph link`: the entities of a graph that questions name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli.options import Format, FormatOption, NoProgress, Overwrite, Quiet
from trueground.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueground.graph.linking import LinkedQuestion, Linker, Retrieval


def link(
    questions: Annotated[
        Path,
        typer.Argument(
            help="[[question, [graph, …]], …] in a .json file, rows with question and perhaps gold "
            "(JSONL, JSON, CSV, Parquet), or a .txt file with one a line."
        ),
    ],
    graph: Annotated[
        str, typer.Argument(help="A folder made by graph load, a file, sparql:URL or wikidata.")
    ],
    recognizer: Annotated[
        str, typer.Option(help="Who finds names: dictionary (the graph's own), or spacy:MODEL.")
    ] = "dictionary",
    types: Annotated[
        list[str] | None,
        typer.Option(help="A class that an entity must have, such as human or Q5. Repeatable."),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(help="The language of the graph's names. Default: its own, or English."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write [[question, [graph, …]], …] with the subgraphs found."),
    ] = None,
    overwrite: Overwrite = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask an endpoint again, and keep no reply.")
    ] = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Find entities in questions, re-ranked; against gold ids also precision and recall."""
    from trueground.cli.graph_shown import show_problem
    from trueground.graph.linking import Linker, retrieval
    from trueground.graph.linking.questions import read_questions
    from trueground.graph.opening import open_graph

    if out is not None:
        _check_free(out, overwrite)
    asked = read_questions(questions)
    opened = open_graph(graph, lang=lang, cache=not no_cache)
    try:
        linker = Linker(opened, recognizer, types or ())
        with progress_bar(quiet or no_progress) as progress:
            linked = linker.link([one.text for one in asked], progress)
    finally:
        opened.close()
    show_problem(opened, quiet)
    gold = [one.gold for one in asked]
    scores = retrieval(linked, gold) if any(one is not None for one in gold) else None
    if out is not None:
        _write(out, [one.text for one in asked], linked)
    if format_ is Format.JSON:
        _echo_json(linker, linked, scores)
    elif not quiet:
        _show(linked, scores, each=out is None)
        if out is not None:
            typer.echo(f"\nfile   {out}")


def _check_free(out: Path, overwrite: bool) -> None:
    from trueground.errors import OutputError
    from trueground.runs.outfile import check_out_file

    check_out_file(out, "linked.json")
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists; choose another --out, or pass --overwrite to replace it")


def _write(out: Path, questions: Sequence[str], linked: Sequence[LinkedQuestion]) -> None:
    """The whole file or nothing; one question a line."""
    import orjson

    from trueground.runs.directory import replacing

    with replacing(out) as file:
        for number, (question, one) in enumerate(zip(questions, linked, strict=True)):
            file.write(b",\n" if number else b"[\n")
            file.write(orjson.dumps([question, one.graphs()]))
        file.write(b"\n]\n")


def _show(linked: Sequence[LinkedQuestion], scores: Retrieval | None, *, each: bool) -> None:
    for one in linked if each else ():
        _show_one(one)
    entities = sum(len(one.found) for one in linked)
    some = sum(bool(one.found) for one in linked)
    several = sum(found.candidates > 1 for one in linked for found in one.found)
    typer.echo(
        f"{len(linked):,} questions, {entities:,} entities in {some:,} of them; "
        f"{several:,} chosen from several of that name"
    )
    if scores is not None:
        _show_scores(scores)


def _show_one(one: LinkedQuestion) -> None:
    from trueground.cli.graph_shown import one_line

    typer.echo(one_line(one.question))
    for found in one.found:
        why = [f"in the question: {', '.join(found.matched)}"] if found.matched else []
        why += [f"best of {found.candidates}"] if found.candidates > 1 else []
        told = f"  ({one_line('; '.join(why))})" if why else ""
        typer.echo(f"  {one_line(f'{found.name}: {found.qid} {found.entity.name}')}{told}")
    if one.unlinked:
        typer.echo(f"  without an entity: {one_line(', '.join(one.unlinked))}")


def _show_scores(scores: Retrieval) -> None:
    typer.echo(
        f"against gold ids of {scores.questions:,} questions: {scores.correct:,} of "
        f"{scores.found:,} found are right, of {scores.gold:,} gold; just the gold ones in "
        f"{scores.exact:,} questions"
    )
    typer.echo(f"  {'':7}{'precision':>10}{'recall':>10}{'F1':>10}")
    for name, values in (
        ("micro", (scores.precision, scores.recall, scores.f1)),
        ("macro", (scores.macro_precision, scores.macro_recall, scores.macro_f1)),
    ):
        shown = "".join(f"{'none' if v is None else f'{v:.3f}':>10}" for v in values)
        typer.echo(f"  {name:7}{shown}")


def _echo_json(linker: Linker, linked: Sequence[LinkedQuestion], scores: Retrieval | None) -> None:
    import msgspec
    import orjson

    value: dict[str, Any] = {
        "graph": linker.graph.name,
        "signature": linker.graph.signature,
        "recognizer": linker.recognizer.name,
        "types": linker.types,
        "links": [_as_json(one) for one in linked],
        "retrieval": None if scores is None else msgspec.to_builtins(scores),
    }
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def _as_json(one: LinkedQuestion) -> dict[str, Any]:
    return {
        "question": one.question,
        "found": [
            {
                "name": found.name,
                "start": found.start,
                "end": found.end,
                "qid": found.qid,
                "label": found.entity.name,
                "matched": found.matched,
                "candidates": found.candidates,
            }
            for found in one.found
        ],
        "unlinked": one.unlinked,
    }
