"""`trueground graph`: knowledge graphs on disk, what they answer, what they say of an entity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, echo_note, progress_bar
from trueground.graph import find_entities, link_questions, load_graph, query_graph
from trueground.options import Overwrite, no_note

graph = typer.Typer(name="graph", help="Knowledge graphs: load, query, show, link.")

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A folder that `graph load` made, a file of graphs (.json, .jsonl) or of triples "
        "(.nt, .ttl …), sparql:URL or wikidata.",
    ),
]


@graph.command("link")
@takes(link_questions, before={"cache": ("out", "overwrite")})
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
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write [[question, [graph, …]], …] with the subgraphs found."),
    ] = None,
    overwrite: Overwrite = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Find entities in questions, re-ranked; against gold ids also precision and recall."""
    from trueground.runs.directory import check_out_file, replacing

    if out is not None:
        check_out_file(out, "linked.json", overwrite=overwrite)
    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        found = link_questions(questions, graph, **options, progress=progress, note=note)
    if out is not None:
        import orjson

        with replacing(out) as file:
            for number, (text, one) in enumerate(zip(found.texts, found.linked, strict=True)):
                file.write(b",\n" if number else b"[\n")
                file.write(orjson.dumps([text, one.graphs()]))
            file.write(b"\n]\n")
    if format_ is Format.JSON:
        echo_json(found.as_dict())
    elif not quiet:
        from trueground.reports.listings import render_links

        typer.echo(render_links(found, each=out is None))
        if out is not None:
            typer.echo(f"\nfile   {out}")


@graph.command("load")
@takes(load_graph)
def load(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE…",
            help="Files: RDF, a Wikidata dump, JSON graphs, tables; also .gz, .bz2 and .zst.",
        ),
    ],
    *,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Load files into a graph on disk; a file that it has already is passed over."""
    passed: list[str] = []
    with progress_bar(quiet or no_progress) as progress:
        state = load_graph(sources, **options, progress=progress, note=passed.append)
    if quiet:
        return
    from trueground.reports.listings import one_line, render_loaded

    typer.echo(render_loaded(options["out"], state))
    if not state.names:
        echo_note(
            f"nothing in {options['out']} has a name that serves readers of {state.lang!r}, so "
            "entities are found by id only. Is --lang right?"
        )
    for message in passed:
        typer.echo(one_line(message))


@graph.command("query")
@takes(query_graph)
def query(
    graph: GraphArgument,
    sparql: Annotated[str, typer.Argument(help="SELECT, ASK, CONSTRUCT or DESCRIBE.")],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Ask a graph in SPARQL; json: one line for each row."""
    import orjson

    from trueground.reports.listings import render_rows

    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        rows = query_graph(graph, sparql, **options, progress=progress, note=note)
    for line in map(orjson.dumps, rows) if format_ is Format.JSON else render_rows(rows):
        typer.echo(line)


@graph.command("show")
@takes(find_entities)
def show(
    graph: GraphArgument,
    wanted: Annotated[
        list[str], typer.Argument(metavar="NAME_OR_QID…", help="Names, aliases or ids.")
    ],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Show what a graph says of entities; json: one line for each, as records hold graphs."""
    import orjson

    from trueground.reports.listings import render_candidates, render_entity

    note = no_note if quiet else echo_note
    with progress_bar(quiet or no_progress) as progress:
        found = find_entities(graph, wanted, **options, progress=progress, note=note)
    for name, candidates, entities in found:
        if len(candidates) > 1:
            note(render_candidates(name, candidates))
        for one in entities:
            as_json = format_ is Format.JSON
            typer.echo(orjson.dumps(one.graph()) if as_json else render_entity(one))
