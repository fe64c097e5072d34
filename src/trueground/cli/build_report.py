"""`trueground build report`: the page and the data card of a build, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._oldoptions import Format, FormatOption, Quiet


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of a finished build.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="Merged human labels, as `annotate import` writes them."),
    ] = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Draw the page and the data card of a build again, with labels that came after it."""
    import orjson

    from trueground.builders.quality.again import draw_again

    drawn = draw_again(folder, labels)
    if format_ is Format.JSON:
        said = {"page": str(drawn.page), "card": str(drawn.card), "people": drawn.people}
        typer.echo(orjson.dumps(said, option=orjson.OPT_INDENT_2))
    elif not quiet:
        for kind in (drawn.people or {}).get("kinds", ()):
            typer.echo(f"{kind['kind']}  {kind['labelled']:,} of {kind['tasks']:,} tasks labelled")
        typer.echo(f"page   {drawn.page}\ncard   {drawn.card}")
