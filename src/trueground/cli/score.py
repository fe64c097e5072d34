"""`trueground score`: score answers that already exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import Format, FormatOption, NoProgress, Quiet, takes
from trueground.cli._output import command_line, echo_json, echo_note, progress_bar
from trueground.evaluate.options import EngineName, OneShard, ShardCount
from trueground.evaluate.score import score as score_records

if TYPE_CHECKING:
    from trueground.evaluate.gates import GateOutcome
    from trueground.evaluate.result import Result
    from trueground.options import Progress

GATE_FAILED = 1
COVERAGE_FAILED = 3


@takes(
    score_records,
    before={
        "limit": ("fail_under", "fail_over", "min_coverage", "all_", "worst", "out_csv", "format_")
    },
)
def score(
    files: Annotated[
        list[str], typer.Argument(help="JSONL, JSON, CSV or Parquet (also .gz, .zst), a URL, or -")
    ],
    *,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            help="METRIC=X or grounded=X: exit 1 if the mean, or the share of answers, is below X. "
            "Repeatable."
        ),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            help="METRIC=X, or partly=X, not=X, declined=X: exit 1 if it is above X. Repeatable."
        ),
    ] = None,
    min_coverage: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Exit 3 if a smaller share could be scored.")
    ] = 0.0,
    all_: Annotated[
        bool, typer.Option("--all", help="Print all metrics, not only the most telling.")
    ] = False,
    worst: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many of the worst answers to print: not grounded first, then partly, each by "
            "lowest support.",
        ),
    ] = 5,
    out_csv: Annotated[
        Path | None,
        typer.Option(help="Write all answers to this CSV file; its rank 1 is the worst, as above."),
    ] = None,
    engine: EngineName = None,
    shards: ShardCount = None,
    shard: OneShard = None,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
    **options: Any,
) -> None:
    """Score a file of answers: item by item and as a whole, in a folder with a page."""

    from trueground.evaluate.gates import judge_gates, parse_gate
    from trueground.net.redact import redact_urls
    from trueground.runs.directory import check_out_file, default_path

    gates = [parse_gate(text) for text in fail_under or ()]
    gates += [parse_gate(text, ceiling=True) for text in fail_over or ()]
    if out_csv is not None:
        check_out_file(out_csv, "worst.csv", "--out-csv", options.get("overwrite", False))
        if out_csv.exists() and any(Path(f).exists() and out_csv.samefile(f) for f in files):
            from trueground.errors import OutputError

            raise OutputError(f"{out_csv} is what is to be scored; choose another --out-csv")
    unique = "out" not in options
    if unique and shard:
        from trueground.errors import UsageError

        raise UsageError(f"--shard {shard} needs --out: the place that all shards share")
    if unique:
        name = "stdin" if files[0] == "-" else Path(files[0]).name.split(".")[0]
        options["out"] = default_path(name)
    common: dict[str, Any] = {
        "require": [gate.metric for gate in gates],
        "command": command_line(),
    }
    with progress_bar(quiet or no_progress) as progress:
        if engine or shards or shard or "://" in str(options["out"]):
            cut = {"engine": engine, "shards": shards, "shard": shard}
            result = _score_shards(files, options | cut | common, progress)
            if result is None:
                return
        else:
            result = score_records(files, **options, **common, unique=unique, progress=progress)
    echo_note(result.note)
    if out_csv is not None:
        result.write_csv(out_csv)
    if format_ is Format.JSON:
        place = str(result.path or redact_urls(str(options["out"])))
        echo_json({**result.summary.raw, "out": place})
    elif not quiet:
        typer.echo(_as_text(result, worst, whole=all_ or "metrics" in options))
        if result.path is None:
            typer.echo(f"\nfiles  {redact_urls(str(options['out']))}/")
    chosen = "metrics" in options
    _leave(judge_gates(result.summary, gates, min_coverage, chosen=chosen))


def _score_shards(files: list[str], options: dict[str, Any], progress: Progress) -> Result | None:
    """The run; None where one shard of it was done."""
    from trueground.errors import UsageError
    from trueground.shards.score import score_shards

    for name in ("limit", "labels", "labels_drawn"):
        if options.pop(name, None):
            raise UsageError(f"--{name.replace('_', '-')} is not for a run in shards; leave it out")
    return score_shards(files, **options, progress=progress)


def _as_text(result: Result, worst: int, *, whole: bool) -> str:
    """What is printed; `whole`: every metric of the run."""
    from trueground.reports.terminal import render_overview

    found = result.worst_items(worst)
    return render_overview(result.summary.raw, result.path, found, every=whole)


def _leave(verdict: GateOutcome) -> None:
    for line in verdict.messages:
        echo_note(line)
    if verdict.failed:
        raise typer.Exit(GATE_FAILED)
    if verdict.uncovered:
        raise typer.Exit(COVERAGE_FAILED)
