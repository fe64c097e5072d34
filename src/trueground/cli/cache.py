"""`trueground cache`: what is kept of replies, encoders, searches and endpoints; clearing it."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen
from trueground.errors import UsageError

if TYPE_CHECKING:
    from trueground.net import CacheStats
    from trueground.reports import Block


cache = typer.Typer(name="cache", help="Show or clear the cache of model replies and results.")
_LONGEST_DAYS = 100_000
_NOUNS = {
    "encoders": "results of encoders",
    "searches": "searches",
    "graphs": "replies of SPARQL endpoints",
    "views": "indexes of `trueground view`",
}


@cache.command("stats")
@takes()
def stats(screen: Screen) -> None:
    """Show what the cache contains, by model."""
    from trueground.net import CacheStats, ResponseCache
    from trueground.view import IndexCache

    result = CacheStats.count(ResponseCache.path_of())
    beside = {name: CacheStats.count(path) for name, path in _beside().items()}
    beside["views"] = IndexCache().count()
    kept = [(result, "replies")]
    kept += [(one, _NOUNS[name]) for name, one in beside.items() if one.entries]
    told = {**_as_json(result), **{name: _as_json(one) for name, one in beside.items()}}
    screen.show_page(told, lambda: [block for one, noun in kept for block in _show(one, noun)])


def _show(cache: CacheStats, noun: str) -> list[Block]:
    """Return how much a file holds, since when, and of which models."""
    from trueground.reports import Head, Part, Row, Table, Text
    from trueground.text import one_line

    lines = [str(cache.path), f"{cache.entries:,} {noun}, {cache.bytes:,} bytes on disk"]
    if cache.oldest and cache.newest:
        lines.append(f"from {cache.oldest:%Y-%m-%d %H:%M} to {cache.newest:%Y-%m-%d %H:%M} UTC")
    rows = []
    for model in cache.models:
        row = Row([f"  {one_line(model.model, 60)}", f"{model.entries:,} {noun}"])
        if noun == "replies":
            row.cells.append(f"{model.tokens:,} tokens")
        rows.append(row)
    title = "\n".join(lines)
    if not rows:
        return [Text(title, "whole")]
    columns = [Head(""), Head("", "number"), Head("", "number")]
    return [Part(title, [Table(columns[: len(rows[0].cells)], rows)])]


def _beside() -> dict[str, Path]:
    """The files beside the replies, by what they are called in JSON."""
    from trueground.net import ResponseCache

    kinds = {"encoders": "vectors", "searches": "searches", "graphs": "graphs"}
    return {noun: ResponseCache.path_of(kind) for noun, kind in kinds.items()}


def _as_json(result: CacheStats) -> dict[str, Any]:
    return {
        "path": str(result.path),
        "entries": result.entries,
        "bytes": result.bytes,
        "oldest": result.oldest,
        "newest": result.newest,
        "models": [
            {"model": m.model, "entries": m.entries, "tokens": m.tokens} for m in result.models
        ],
    }


@cache.command("clear")
@takes()
def clear(
    model: Annotated[str | None, typer.Option(help="Only entries of this model.")] = None,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Only entries older than this many days."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    *,
    screen: Screen,
) -> None:
    """Delete cache entries.

    Without options, deletes all. Deleted replies cost money again when you rerun.
    """
    from trueground.files import home
    from trueground.net import ResponseCache
    from trueground.view import IndexCache

    files = {"": ResponseCache.path_of(), **_beside()}
    paths = files | {"views": home() / "views"}
    which = "" if model is None else f" of {model}"
    which += "" if older_than is None else f" older than {older_than:g} days"
    age = None
    if older_than is not None:
        if not older_than <= _LONGEST_DAYS:  # nor NaN
            most = f"{_LONGEST_DAYS:,}"
            raise UsageError(f"--older-than {older_than}; expected a number of days up to {most}")
        age = timedelta(days=older_than)
    there = {name: path for name, path in paths.items() if not name or path.exists()}
    if model is not None:  # indexes are of no model
        there.pop("views", None)
    named = " and ".join(str(path) for path in there.values())
    asked = f"Remove {'the' if which else 'all'} replies{which} from {named}?"
    if not (yes or _confirmed(asked)):
        _tell(paths, dict.fromkeys(paths, 0), "nothing was removed", screen)
        return
    gone = dict(zip(files, ResponseCache.clear(list(files.values()), model, age), strict=True))
    gone["views"] = IndexCache().clear(age) if "views" in there else 0
    words = "\n".join(
        f"removed {gone[name]:,} {_NOUNS.get(name, 'replies')}{which} from {path}"
        for name, path in there.items()
    )
    _tell(paths, gone, words, screen)


def _tell(paths: dict[str, Path], removed: dict[str, int], words: str, screen: Screen) -> None:
    each = {n: {"path": str(path), "removed": removed[n]} for n, path in paths.items()}
    screen.show({**each.pop(""), **each}, lambda: words)


def _confirmed(question: str) -> bool:
    """Ask on the terminal. UsageError where nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Pass --yes to say so; there is no terminal to ask on")
    return typer.confirm(question, err=True)
