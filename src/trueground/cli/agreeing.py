"""`trueground agreement`: how well annotators agree."""

from __future__ import annotations

from typing import Annotated

import typer

from trueground.cli.annotating import AllowEdited, Answers
from trueground.cli.options import Format, FormatOption, Quiet, Resamples, Seed


def agreement(
    answers: Answers,
    resamples: Resamples = 2_000,
    seed: Seed = 0,
    hardest: Annotated[int, typer.Option(min=0, help="Tasks to name, of each kind.")] = 10,
    allow_edited: AllowEdited = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
) -> None:
    """Agreement of annotators in each field, with intervals, and the hardest tasks."""
    from trueground.annotation.agreement import agreement as measure

    found = measure(
        answers, resamples=resamples, seed=seed, hard=hardest, allow_edited=allow_edited
    )
    if format_ is Format.JSON:
        import msgspec
        import orjson

        typer.echo(orjson.dumps(msgspec.to_builtins(found), option=orjson.OPT_INDENT_2))
    elif not quiet:
        from trueground.cli.annotation_shown import agreed

        typer.echo(agreed(found))
