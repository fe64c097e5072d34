"""`trueground merge`: shards that are done become one run."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import Annotated, Any

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
    """Make one of all shards: a run of `score`'s, one log of `run`'s, one store of `build`'s."""
    from trueground.net.redact import redact_urls
    from trueground.reports.terminal import render_overview
    from trueground.shards.merge import merge as merge_shards

    if (part := next((Path(out) / "shards").glob("*-of-*"), None)) is not None:
        found, told = _join(Path(out), part)
        if format_ is Format.JSON:
            echo_json({"out": out, **found})
        elif not quiet:
            typer.echo(told)
        return
    with progress_bar(quiet or no_progress) as progress:
        result = merge_shards(out, command=command_line(), progress=progress)
    echo_note(result.note)
    if format_ is Format.JSON:
        echo_json({**result.summary.raw, "out": redact_urls(out)})
    elif not quiet:
        typer.echo(render_overview(result.summary.raw, result.path, result.worst_items(5)))
        if result.path is None:
            typer.echo(f"\nfiles  {redact_urls(out)}/")


def _join(out: Path, part: Path) -> tuple[dict[str, Any], str]:
    """Bring together what shards of a build or a run were paid for; what to do next, in words."""
    from trueground.runs.directory import read_manifest

    if "builder" in (read_manifest(part) or {}):
        from trueground.builders.build import join_shards

        complete = join_shards(out)
        rest = (
            " without --shard"
            if complete
            else (": with --shard for another round, or without, which does the rest")
        )
        return {"complete": complete}, f"all is in {out}. Go on with the same command{rest}"
    from trueground.shards.merge import join_logs

    replies, command = join_logs(out)
    words = f"{replies:,} replies are in {out}. Score them with:\n  {join(command)}"
    return {"replies": replies, "next": join(command)}, words
