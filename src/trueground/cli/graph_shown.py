"""What `trueground graph` prints: what was loaded, rows of a query, entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trueground.cli.options import Format

if TYPE_CHECKING:
    from trueground.graph.base import Entity, KnowledgeGraph, NamedEntity, Row

_AT_ONCE = 1_000  # rows whose columns are drawn together
_WIDEST, _LONGEST = 60, 2_000  # characters of a cell, of a line


def show_loaded(folder: Path) -> None:
    """Where the graph is, and what each file gave."""
    from trueground.graph.embedded.file import read_graph_file

    state = read_graph_file(folder)
    typer.echo(folder)
    for source in state.sources:
        entities = f", {counted(source.entities, 'entity', 'entities')}" if source.entities else ""
        typer.echo(
            f"  {one_line(Path(source.path).name)} ({source.format}): "
            f"{counted(source.triples, 'triple')}{entities}"
        )
        for reason, count in source.left_out.items():
            typer.echo(f"    left out: {count:,} × {one_line(reason)}")
        for place in source.examples:
            typer.echo(f"      {one_line(place)}")
    names = counted(state.names, "name")
    typer.echo(f"{counted(state.triples, 'triple')}, {names} in {state.lang!r}")
    if not state.names:
        typer.echo(
            f"trueground: nothing in {folder} has a name that serves readers of {state.lang!r}, so "
            "entities are found by id only. Is --lang right?",
            err=True,
        )


def counted(number: int, noun: str, several: str = "") -> str:
    """A number and what it counts."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def show_problem(graph: KnowledgeGraph, quiet: bool) -> None:
    """Why replies of an endpoint were no longer kept, once it is closed."""
    problem = getattr(graph, "problem", None)
    if problem is not None and not quiet:
        typer.echo(f"trueground: {problem}", err=True)


def show_rows(rows: Iterator[Row], format_: Format) -> None:
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
        lines = [[one_line(text or "", _WIDEST) for text in row.values()] for row in some]
        typer.echo(_columns([*head, *lines]))
        head, some = [], list(islice(rows, _AT_ONCE))


def show_candidates(name: str, candidates: Sequence[NamedEntity]) -> None:
    """On standard error: that a name has several entities."""
    listed = "".join(f"\n  {one_line(_told(one))}" for one in candidates)
    typer.echo(f"trueground: {name!r} names {len(candidates)} entities:{listed}", err=True)


def show_entity(entity: Entity, format_: Format) -> None:
    """A block of lines, or one line of JSON."""
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(entity.graph()))
        return
    aliases = f" (also {one_line('; '.join(entity.aliases))})" if entity.aliases else ""
    typer.echo(f"{one_line(entity.qid)}  {one_line(entity.name)}{aliases}")
    for name, values in entity.properties.items():
        for value in values:
            known = f"  [{value.id}]" if value.id and value.id != value.text else ""
            typer.echo(f"  {one_line(name)}: {one_line(value.text)}{known}")


def _told(one: NamedEntity) -> str:
    classes = f"  ({', '.join(one.types)})" if one.types else ""
    return f"{one.qid}  {one.text}{classes}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)


def one_line(text: str, limit: int = _LONGEST) -> str:
    """Line feeds and signs that steer a terminal are data, not layout."""
    from trueground.records.problems import shorten

    return shorten(" ".join(text.split()), limit)
