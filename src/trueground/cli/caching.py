"""`trueground cache`: what is kept of replies and of encoders' results, and clearing it."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli.options import Format

if TYPE_CHECKING:
    from trueground.net.upkeep import CacheStats

cache = typer.Typer(name="cache", help="What is kept of earlier runs: count and clear.")
_LONGEST_DAYS = 100_000
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]


@cache.command("stats")
def stats(format_: FormatOption = Format.TEXT) -> None:
    """Show how many replies, and results of encoders, are kept, of which models, how old."""
    from trueground.net.cache import default_path, vectors_path
    from trueground.net.upkeep import stats as count

    found, encoders = count(default_path()), count(vectors_path())
    if format_ is Format.JSON:
        _echo_json({**_as_json(found), "encoders": _as_json(encoders)})
        return
    _show(found, "replies")
    if encoders.entries:
        _show(encoders, "results of encoders")


def _as_json(found: CacheStats) -> dict[str, Any]:
    return {
        "path": str(found.path),
        "entries": found.entries,
        "bytes": found.bytes,
        "oldest": found.oldest,
        "newest": found.newest,
        "models": [
            {"model": m.model, "entries": m.entries, "tokens": m.tokens} for m in found.models
        ],
    }


def _show(found: CacheStats, noun: str) -> None:
    from trueground.reports.terminal import shown_name

    typer.echo(f"{found.path}\n{found.entries:,} {noun}, {found.bytes:,} bytes on disk")
    if found.oldest and found.newest:
        typer.echo(f"from {found.oldest:%Y-%m-%d %H:%M} to {found.newest:%Y-%m-%d %H:%M} UTC")
    names = [shown_name(m.model) for m in found.models]
    width = max(map(len, names), default=0)
    for name, m in zip(names, found.models, strict=True):
        tokens = f"  {m.tokens:,} tokens" if noun == "replies" else ""
        typer.echo(f"  {name:{width}}  {m.entries:,} {noun}{tokens}")


@cache.command("clear")
def clear(
    model: Annotated[str | None, typer.Option(help="Only what this model gave.")] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Only what is older than this.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Remove kept replies and results of encoders; asked again, they are paid for again."""
    from trueground.net.cache import default_path, vectors_path
    from trueground.net.upkeep import clear_several

    paths = (default_path(), vectors_path())
    which = "" if model is None else f" of {model}"
    which += "" if older_than is None else f" older than {older_than:g} days"
    age = None if older_than is None else _age(older_than)
    beside = f" and {paths[1]}" if paths[1].exists() else ""
    asked = f"Remove {'the' if which else 'all'} replies{which} from {paths[0]}{beside}?"
    if not (yes or _confirmed(asked)):
        _tell(paths, (0, 0), "nothing was removed", format_)
        return
    gone, results = clear_several(paths, model, age)
    words = f"removed {gone:,} replies{which} from {paths[0]}"
    if beside:
        words += f"\nremoved {results:,} results of encoders{which} from {paths[1]}"
    _tell(paths, (gone, results), words, format_)


def _tell(paths: tuple[Path, Path], removed: tuple[int, int], words: str, format_: Format) -> None:
    if format_ is Format.JSON:
        both = [{"path": str(p), "removed": n} for p, n in zip(paths, removed, strict=True)]
        _echo_json({**both[0], "encoders": both[1]})
    else:
        typer.echo(words)


def _age(days: float) -> timedelta:
    """UsageError for what is no length of time, or longer than the calendar."""
    from trueground.errors import UsageError

    if not days <= _LONGEST_DAYS:
        raise UsageError(f"--older-than {days}; expected a number of days up to {_LONGEST_DAYS:,}")
    return timedelta(days=days)


def _confirmed(question: str) -> bool:
    """Ask on the terminal. UsageError where nobody can answer."""
    from trueground.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(f"{question} Pass --yes to say so; there is no terminal to ask on")
    return typer.confirm(question, err=True)


def _echo_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
