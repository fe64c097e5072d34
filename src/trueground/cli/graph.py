"""`trueground graph`: knowledge graphs on disk, what they answer, what they say of an entity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import echo_json, echo_note, progress_bar, shorten
from trueground.options import Overwrite

if TYPE_CHECKING:
    from trueground.graph.base import Entity, KnowledgeGraph, NamedEntity, Row
    from trueground.graph.linking import LinkedQuestion, Linker, Retrieval

graph = typer.Typer(name="graph", help="Knowledge graphs: load, query, show, link.")
_AT_ONCE = 1_000  # rows whose columns are drawn together
_WIDEST, _LONGEST = 60, 2_000  # characters of a cell, of a line

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


@graph.command("link")
@takes()
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
    from trueground.graph.linking import Linker, retrieval
    from trueground.graph.linking.questions import read_questions
    from trueground.graph.opening import open_graph

    if out is not None:
        from trueground.runs.directory import check_out_file

        check_out_file(out, "linked.json", overwrite=overwrite)
    asked = read_questions(questions)
    opened = open_graph(graph, lang=lang, cache=not no_cache)
    try:
        linker = Linker(opened, recognizer, types or ())
        with progress_bar(quiet or no_progress) as progress:
            linked = linker.link([one.text for one in asked], progress)
    finally:
        opened.close()
    _show_problem(opened, quiet)
    gold = [one.gold for one in asked]
    scores = retrieval(linked, gold) if any(one is not None for one in gold) else None
    if out is not None:
        _write(out, [one.text for one in asked], linked)
    if format_ is Format.JSON:
        _echo_links(linker, linked, scores)
    elif not quiet:
        _show_links(linked, scores, each=out is None)
        if out is not None:
            typer.echo(f"\nfile   {out}")


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
    _show_loaded(out)
    for path, before in passed:
        typer.echo(_one_line(f"{path} is passed over: its content was loaded before as {before}"))


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
        _show_rows(opened.query(sparql, bindings), format_)
    finally:
        opened.close()
    _show_problem(opened, quiet)


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
                    _show_candidates(one, named)
            for each in found:
                if each is not None:
                    _show_entity(each, format_)
    finally:
        opened.close()
    _show_problem(opened, quiet)
    _check_found(opened.name, candidates)


def _write(out: Path, questions: Sequence[str], linked: Sequence[LinkedQuestion]) -> None:
    """The whole file or nothing; one question a line."""
    import orjson

    from trueground.runs.directory import replacing

    with replacing(out) as file:
        for number, (question, one) in enumerate(zip(questions, linked, strict=True)):
            file.write(b",\n" if number else b"[\n")
            file.write(orjson.dumps([question, one.graphs()]))
        file.write(b"\n]\n")


def _show_links(linked: Sequence[LinkedQuestion], scores: Retrieval | None, *, each: bool) -> None:
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
    typer.echo(_one_line(one.question))
    for found in one.found:
        why = [f"in the question: {', '.join(found.matched)}"] if found.matched else []
        why += [f"best of {found.candidates}"] if found.candidates > 1 else []
        reasons = f"  ({_one_line('; '.join(why))})" if why else ""
        typer.echo(f"  {_one_line(f'{found.name}: {found.qid} {found.entity.name}')}{reasons}")
    if one.unlinked:
        typer.echo(f"  without an entity: {_one_line(', '.join(one.unlinked))}")


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


def _echo_links(linker: Linker, linked: Sequence[LinkedQuestion], scores: Retrieval | None) -> None:
    import msgspec

    value: dict[str, Any] = {
        "graph": linker.graph.name,
        "signature": linker.graph.signature,
        "recognizer": linker.recognizer.name,
        "types": linker.types,
        "links": [_as_json(one) for one in linked],
        "retrieval": None if scores is None else msgspec.to_builtins(scores),
    }
    echo_json(value)


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


def _show_loaded(folder: Path) -> None:
    """Where the graph is, and what each file gave."""
    from trueground.graph.embedded.file import read_graph_file

    state = read_graph_file(folder)
    typer.echo(folder)
    for source in state.sources:
        entities = f", {_counted(source.entities, 'entity', 'entities')}" if source.entities else ""
        typer.echo(
            f"  {_one_line(Path(source.path).name)} ({source.format}): "
            f"{_counted(source.triples, 'triple')}{entities}"
        )
        for reason, count in source.left_out.items():
            typer.echo(f"    left out: {count:,} × {_one_line(reason)}")
        for place in source.examples:
            typer.echo(f"      {_one_line(place)}")
    names = _counted(state.names, "name")
    typer.echo(f"{_counted(state.triples, 'triple')}, {names} in {state.lang!r}")
    if not state.names:
        echo_note(
            f"nothing in {folder} has a name that serves readers of {state.lang!r}, so entities "
            "are found by id only. Is --lang right?"
        )


def _counted(number: int, noun: str, several: str = "") -> str:
    """A number and what it counts."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def _show_problem(graph: KnowledgeGraph, quiet: bool) -> None:
    """Why replies of an endpoint were no longer kept, once it is closed."""
    if not quiet:
        echo_note(getattr(graph, "problem", None))


def _show_rows(rows: Iterator[Row], format_: Format) -> None:
    """A table, or a line of JSON for each row."""
    if format_ is Format.JSON:
        import orjson

        for row in rows:
            typer.echo(orjson.dumps(row))
        return
    from itertools import islice

    head: list[list[str]] = []
    some = list(islice(rows, _AT_ONCE))
    if some:
        head = [list(some[0])]
    else:
        typer.echo("nothing found")
    while some:
        lines = [[_one_line(text or "", _WIDEST) for text in row.values()] for row in some]
        typer.echo(_columns([*head, *lines]))
        head, some = [], list(islice(rows, _AT_ONCE))


def _show_candidates(name: str, candidates: Sequence[NamedEntity]) -> None:
    """On standard error: that a name has several entities."""
    listed = "".join(f"\n  {_one_line(_format_named(one))}" for one in candidates)
    echo_note(f"{name!r} names {len(candidates)} entities:{listed}")


def _show_entity(entity: Entity, format_: Format) -> None:
    """A block of lines, or one line of JSON."""
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(entity.graph()))
        return
    aliases = f" (also {_one_line('; '.join(entity.aliases))})" if entity.aliases else ""
    typer.echo(f"{_one_line(entity.qid)}  {_one_line(entity.name)}{aliases}")
    for name, values in entity.properties.items():
        for value in values:
            known = f"  [{value.id}]" if value.id and value.id != value.text else ""
            typer.echo(f"  {_one_line(name)}: {_one_line(value.text)}{known}")


def _format_named(one: NamedEntity) -> str:
    classes = f"  ({', '.join(one.types)})" if one.types else ""
    return f"{one.qid}  {one.text}{classes}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)


def _one_line(text: str, limit: int = _LONGEST) -> str:
    """Line feeds and signs that steer a terminal are data, not layout."""
    return shorten(" ".join(text.split()), limit)
