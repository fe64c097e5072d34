"""`trueground cache`: what the response cache holds, and clearing it."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from trueground.cli.options import Format

cache = typer.Typer(name="cache", help="The response cache: count and clear.")
_LONGEST_DAYS = 100_000
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]


@cache.command("stats")
def stats(format_: FormatOption = Format.TEXT) -> None:
    """Show how many replies are kept, of which models, how large and how old."""
    from trueground.net.cache import default_path
    from trueground.net.upkeep import stats as count

    found = count(default_path())
    if format_ is Format.JSON:
        _echo_json(
            {
                "path": str(found.path),
                "entries": found.entries,
                "bytes": found.bytes,
                "oldest": found.oldest,
                "newest": found.newest,
                "models": [
                    {"model": m.model, "entries": m.entries, "tokens": m.tokens}
                    for m in found.models
                ],
            }
        )
        return
    typer.echo(f"{found.path}\n{found.entries:,} replies, {found.bytes:,} bytes on disk")
    if found.oldest and found.newest:
        typer.echo(f"from {found.oldest:%Y-%m-%d %H:%M} to {found.newest:%Y-%m-%d %H:%M} UTC")
    from trueground.reports.terminal import shown_name

    names = [shown_name(m.model) for m in found.models]
    width = max(map(len, names), default=0)
    for name, m in zip(names, found.models, strict=True):
        typer.echo(f"  {name:{width}}  {m.entries:,} replies  {m.tokens:,} tokens")


@cache.command("clear")
def clear(
    model: Annotated[str | None, typer.Option(help="Only replies of this model.")] = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Only replies older than this.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Remove kept replies; what is removed is paid for again when it is asked again."""
    from trueground.net.cache import default_path
    from trueground.net.upkeep import clear as remove

    path = default_path()
    which = "" if model is None else f" of {model}"
    which += "" if older_than is None else f" older than {older_than:g} days"
    age = None if older_than is None else _age(older_than)
    if not (yes or _confirmed(f"Remove {'the' if which else 'all'} replies{which} from {path}?")):
        _tell(path, 0, "nothing was removed", format_)
        return
    gone = remove(path, model, age)
    _tell(path, gone, f"removed {gone:,} replies{which} from {path}", format_)


def _tell(path: Path, removed: int, words: str, format_: Format) -> None:
    if format_ is Format.JSON:
        _echo_json({"path": str(path), "removed": removed})
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
