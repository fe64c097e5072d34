"""The command `trueground graph`: load, query and show knowledge graphs, and link entities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli import Screen, takes
from trueground.options import Overwrite
from trueground.wings.graphs.operations import (
    find_entities,
    link_questions,
    load_graph,
    query_graph,
)

graph = typer.Typer(name="graph", help="Load, query, show and link knowledge graphs.")

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="Folder written by `graph load`, file of graphs (.json, .jsonl) or "
        "triples (.nt, .ttl), sparql:URL or wikidata.",
    ),
]


@graph.command("link")
@takes(link_questions, before={"cache": ("out", "overwrite")})
def link(
    questions: Annotated[
        Path,
        typer.Argument(
            help=(
                "Questions: rows with question and optionally gold (JSONL, JSON, CSV "
                "or Parquet), or a .txt file with one question per line."
            )
        ),
    ],
    graph: Annotated[
        str, typer.Argument(help="Folder written by `graph load`, a file, sparql:URL or wikidata.")
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="JSON file to write, with the subgraphs of each question."),
    ] = None,
    overwrite: Overwrite = False,
    screen: Screen,
    **options: Any,
) -> None:
    """Link entities in questions to a graph.

    If the questions have gold ids, also reports precision and recall.
    """
    from trueground.files import OutputPath
    from trueground.wings.graphs.pages import show_links

    if out is not None:
        OutputPath(out).check_file("linked.json", overwrite=overwrite)
    links = screen.call(link_questions, questions, graph, **options)
    if out is not None:
        import orjson

        with OutputPath(out).replacing() as file:
            for number, (text, linked) in enumerate(zip(links.texts, links.linked, strict=True)):
                file.write(b",\n" if number else b"[\n")
                file.write(orjson.dumps([text, linked.graphs()]))
            file.write(b"\n]\n")
    screen.show_page(links.as_dict(), lambda: show_links(links, each=out is None))
    if out is not None:
        screen.say(f"\nfile   {out}")


@graph.command("load")
@takes(load_graph)
def load(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="RDF, Wikidata dumps, JSON graphs or tables; also .gz, .bz2 and .zst.",
        ),
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Load files into a graph on disk.

    Skips files that the graph already contains.
    """
    notes: list[str] = []
    state = screen.call(load_graph, sources, **options, note=notes.append)
    from trueground.wings.graphs.pages import show_loaded

    screen.show_page(state, lambda: show_loaded(options["out"], state, notes))
    if not state.names:
        screen.note(
            f"no entity in {options['out']} has a name in the language {state.lang!r}, so entities "
            "can only be found by id. Check --lang"
        )


@graph.command("query")
@takes(query_graph)
def query(
    graph: GraphArgument,
    sparql: Annotated[
        str, typer.Argument(help="SPARQL query: SELECT, ASK, CONSTRUCT or DESCRIBE.")
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Query a graph with SPARQL.

    With --format json, prints one line per row.
    """
    import orjson

    from trueground.wings.graphs.pages import tabulate_rows

    rows = screen.call(query_graph, graph, sparql, **options)
    if screen.as_json:
        for line in map(orjson.dumps, rows):
            typer.echo(line)
        return
    for block in tabulate_rows(rows):
        screen.print_page([block])


@graph.command("show")
@takes(find_entities)
def show(
    graph: GraphArgument,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME_OR_QID", help="Names, aliases or ids of entities.")
    ],
    *,
    screen: Screen,
    **options: Any,
) -> None:
    """Show the triples of entities.

    With --format json, prints one line per entity, in the format of records.
    """
    import orjson

    from trueground.wings.graphs.pages import format_candidates, show_entity

    for name, candidates, entities in screen.call(find_entities, graph, names, **options):
        if len(candidates) > 1:
            screen.note(format_candidates(name, candidates))
        for entity in entities:
            if screen.as_json:
                typer.echo(orjson.dumps(entity.graph()))
            else:
                screen.print_page(show_entity(entity))
