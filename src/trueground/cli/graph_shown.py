"""What `trueground graph` prints: what was loaded, rows of a query, entities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trueground.cli.options import Format

if TYPE_CHECKING:
    from trueground.graph.base import Entity, Named, Row

_AT_ONCE = 1_000  # rows whose columns are drawn together
_WIDEST, _LONGEST = 60, 2_000  # characters of a cell, of a line


def show_loaded(folder: Path) -> None:
    """Where the graph is, and what each file gave."""
    from trueground.graph.embedded.file import read_graph_file

    state = read_graph_file(folder)
    typer.echo(folder)
    for source in state.sources:
        noun = "entity" if source.entities == 1 else "entities"
        entities = f", {source.entities:,} {noun}" if source.entities else ""
        typer.echo(
            f"  {Path(source.path).name} ({source.format}): {source.triples:,} triples{entities}"
        )
        for reason, count in source.left_out.items():
            typer.echo(f"    left out: {count:,} × {reason}")
    typer.echo(f"{state.triples:,} triples, {state.names:,} names in {state.lang!r}")


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
        lines = [[_one_line(text or "", _WIDEST) for text in row.values()] for row in some]
        typer.echo(_columns([*head, *lines]))
        head, some = [], list(islice(rows, _AT_ONCE))


def show_candidates(name: str, candidates: Sequence[Named]) -> None:
    """On standard error: that a name has several entities."""
    listed = "".join(f"\n  {_one_line(_told(one))}" for one in candidates)
    typer.echo(f"trueground: {name!r} names {len(candidates)} entities:{listed}", err=True)


def show_entity(entity: Entity, format_: Format) -> None:
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


def _told(one: Named) -> str:
    classes = f"  ({', '.join(one.types)})" if one.types else ""
    return f"{one.qid}  {one.text}{classes}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)


def _one_line(text: str, limit: int = _LONGEST) -> str:
    """Line feeds and signs that steer a terminal are data, not layout."""
    from trueground.records.problems import shorten

    return shorten(" ".join(text.split()), limit)
