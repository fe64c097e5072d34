"""`trueground errors`: why correct answers have a low F1, by category."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli.options import Format, FormatOption, NoProgress, Quiet

Source = Annotated[
    Path,
    typer.Argument(help="A run directory with f1 and recall; or a file that this command wrote."),
]
Proposer = Annotated[
    str | None,
    typer.Option(help="Who proposes: rules, or llm:MODEL(option=value). Default: rules."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Where the items go, one line each. Default: errors.jsonl in the run."),
]
MaxF1 = Annotated[
    float | None, typer.Option(help="Items with an F1 of at most this. Default: 0.3.")
]


def errors(
    source: Source,
    proposer: Proposer = None,
    out: Out = None,
    max_f1: MaxF1 = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Use no reply that was paid for before.")
    ] = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Sort correct answers with a low F1 by why it is low; what people corrected is kept."""
    from trueground.cli.progress import progress_bar
    from trueground.errors import UsageError
    from trueground.studies.errors.distribution import render
    from trueground.studies.errors.study import MAX_F1, read_errors, sort_errors

    if source.is_file():
        for name, value in (("--proposer", proposer), ("--out", out), ("--max-f1", max_f1)):
            if value is not None:
                raise UsageError(f"{name} is for a run; {source} is a file. Leave it out.")
        found = read_errors(source)
    else:
        with progress_bar(quiet or no_progress) as progress:
            found = sort_errors(
                source,
                proposer="rules" if proposer is None else proposer,
                out=out,
                max_f1=MAX_F1 if max_f1 is None else max_f1,
                cache=not no_cache,
                progress=progress,
            )
    if format_ is Format.JSON:
        import orjson

        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    elif not quiet:
        typer.echo(render(found, Path(found["file"])))
