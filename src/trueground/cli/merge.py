"""`trueground merge`: shards that are done become one run."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import command_line, echo_json, echo_note, progress_bar


@takes()
def merge(
    out: Annotated[str, typer.Argument(help="The folder or URL that --out named.")],
    *,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """Make one run of all shards of `score --shard`, or one log of those of `run --shard`."""
    from trueground.reports.overview import render_overview
    from trueground.shards.merge import join_logs
    from trueground.shards.merge import merge as merge_shards

    if next((Path(out) / "shards").glob("*-of-*"), None) is not None:
        replies, command = join_logs(Path(out))
        if not quiet:
            typer.echo(f"{replies:,} replies are in {out}. Score them with:\n  {join(command)}")
        return
    with progress_bar(quiet or no_progress) as progress:
        result = merge_shards(out, command=command_line(), progress=progress)
    echo_note(result.note)
    if format_ is Format.JSON:
        echo_json({**result.summary.raw, "out": out})
    elif not quiet:
        typer.echo(render_overview(result.summary.raw, result.path, result.worst_items(5)))
