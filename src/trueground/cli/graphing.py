"""`trueground graph`: knowledge graphs on disk, what they answer, what they say of an entity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueground.cli import graph_link
from trueground.cli.options import Format, FormatOption, NoProgress, Quiet
from trueground.cli.progress import progress_bar

if TYPE_CHECKING:
    from trueground.graph.base import NamedEntity

graph = typer.Typer(name="graph", help="Knowledge graphs: load, query, show, link.")
graph.command("link")(graph_link.link)

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A folder that `graph load` made, a file of graphs (.json, .jsonl) or of triples "
        "(.nt, .ttl …), sparql:URL or wikidata.",
    ),
]
Lang = Annotated[
    str | None,
    typer.Option("--lang", help="Language of names. Default: that of the graph, or en."),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Ask an endpoint again, and keep nothing of it.")
]


@graph.command("load")
def load(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE…",
            help="Files: RDF, a Wikidata dump, JSON graphs, tables; also .gz, .bz2 and .zst.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the graph; one there is added to.")],
    class_: Annotated[
        list[str] | None,
        typer.Option(
            "--class", help="Of a Wikidata dump, only instances of it, such as Q5. Repeatable."
        ),
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="Language of names.")] = "en",
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="rdf, wikidata-rdf, wikidata-json, kalma, graphs or csv. Default: found out.",
        ),
    ] = None,
    identifiers: Annotated[
        bool,
        typer.Option("--identifiers", help="Keep ids of other databases, web addresses, images."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Load anew in place of what is there.")
    ] = False,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Load files into a graph on disk; a file that it has already is passed over."""
    from trueground.cli.graph_shown import one_line, show_loaded
    from trueground.graph.embedded.building import build_graph
    from trueground.graph.loading import Loading

    loading = Loading(lang, tuple(class_ or ()), format_, identifiers)
    passed = []
    with progress_bar(quiet or no_progress) as progress:
        build_graph(
            sources,
            out,
            loading,
            progress,
            overwrite=overwrite,
            passed_over=lambda path, before: passed.append((path, before.path)),
        ).close()
    if quiet:
        return
    show_loaded(out)
    for path, before in passed:
        typer.echo(one_line(f"{path} is passed over: its content was loaded before as {before}"))


@graph.command("query")
def query(
    graph: GraphArgument,
    sparql: Annotated[str, typer.Argument(help="SELECT, ASK, CONSTRUCT or DESCRIBE.")],
    bind: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE gives a variable a value: a text, or an <address>. Repeatable."
        ),
    ] = None,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Ask a graph in SPARQL; json: one line for each row."""
    from trueground.cli.graph_shown import show_problem, show_rows
    from trueground.errors import UsageError
    from trueground.graph.base import Queried
    from trueground.graph.opening import open_graph

    bindings = _bindings(bind or [])
    with progress_bar(quiet or no_progress) as progress:
        opened = open_graph(graph, cache=not no_cache, progress=progress)
    try:
        if not isinstance(opened, Queried):
            raise UsageError(
                f"{graph} is a file of graphs, which answers no SPARQL; load it first with: "
                f"trueground graph load {graph} --out DIR, or see an entity with: trueground graph "
                f"show {graph} NAME"
            )
        show_rows(opened.query(sparql, bindings), format_)
    finally:
        opened.close()
    show_problem(opened, quiet)


@graph.command("show")
def show(
    graph: GraphArgument,
    wanted: Annotated[
        list[str], typer.Argument(metavar="NAME_OR_QID…", help="Names, aliases or ids.")
    ],
    lang: Lang = None,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Show what a graph says of entities; json: one line for each, as records hold graphs."""
    from trueground.cli.graph_shown import show_candidates, show_entity, show_problem
    from trueground.graph.opening import open_graph

    with progress_bar(quiet or no_progress) as progress:
        opened = open_graph(graph, lang=lang, cache=not no_cache, progress=progress)
    try:
        by_id = opened.entities(wanted)
        names = [one for one, entity in zip(wanted, by_id, strict=True) if entity is None]
        candidates = dict(zip(names, opened.find(names), strict=True))
        for one, entity in zip(wanted, by_id, strict=True):
            found = [entity]
            if entity is None:
                named = candidates[one]
                found = opened.entities([candidate.qid for candidate in named])
                if len(named) > 1 and not quiet:
                    show_candidates(one, named)
            for each in found:
                if each is not None:
                    show_entity(each, format_)
    finally:
        opened.close()
    show_problem(opened, quiet)
    _check_found(opened.name, candidates)


def _bindings(written: list[str]) -> dict[str, str]:
    from trueground.errors import UsageError

    bindings = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--bind {one!r}; expected NAME=VALUE, such as name=Stephen Crane")
        bindings[name.strip()] = value
    return bindings


def _check_found(name: str, candidates: dict[str, list[NamedEntity]]) -> None:
    from trueground.errors import InputError

    if missing := [one for one, named in candidates.items() if not named]:
        raise InputError(
            f"{name} has no entity with the name, alias or id {' or '.join(map(repr, missing))}; "
            "names count whole, whatever their case. See how it is spelt there, or give its id"
        )
