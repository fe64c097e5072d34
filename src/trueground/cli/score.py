"""`trueground score`: score answers that already exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import command_line, echo_json, echo_note, progress_bar
from trueground.evaluate.score import score as score_records

if TYPE_CHECKING:
    from trueground.evaluate.result import GateOutcome, Result

GATE_FAILED = 1
COVERAGE_FAILED = 3


@takes(score_records, before={"limit": ("fail_under", "min_coverage", "format_")})
def score(
    files: Annotated[
        list[str], typer.Argument(help="JSONL, JSON, CSV or Parquet (also .gz, .zst), a URL, or -")
    ],
    *,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="METRIC=X: exit 1 if the mean is below X. Repeatable."),
    ] = None,
    min_coverage: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Exit 3 if a smaller share could be scored.")
    ] = 0.0,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Score a file of answers: item by item and as a whole, in a folder with a page."""

    from trueground.evaluate.result import judge_gates, parse_gate
    from trueground.runs.directory import default_path

    gates = [parse_gate(text) for text in fail_under or ()]
    unique = "out" not in options
    if unique:
        name = "stdin" if files[0] == "-" else Path(files[0]).name.split(".")[0]
        options["out"] = default_path(name)
    with progress_bar(quiet or no_progress) as progress:
        result = score_records(
            files,
            **options,
            unique=unique,
            require=[gate.metric for gate in gates],
            command=command_line(),
            progress=progress,
        )
    echo_note(result.note)
    if format_ is Format.JSON or not quiet:
        _show(result, format_)
    _leave(judge_gates(result.summary, gates, min_coverage))


def _show(result: Result, format_: Format) -> None:
    if format_ is Format.JSON:
        echo_json({**result.summary.raw, "out": str(result.path)})
        return
    from trueground.reports.terminal import render

    typer.echo(render(result.summary.raw, result.path))


def _leave(verdict: GateOutcome) -> None:
    for line in verdict.messages:
        echo_note(line)
    if verdict.failed:
        raise typer.Exit(GATE_FAILED)
    if verdict.uncovered:
        raise typer.Exit(COVERAGE_FAILED)
