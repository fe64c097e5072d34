"""What `trueground run` does with its options: read them, run the sweep, print, exit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import typer

from trueground.benchmarks.base import Benchmark, Sources, Value
from trueground.cli._oldoptions import Format
from trueground.cli._output import progress_bar
from trueground.cli.run_given import check_numbers, models_of, settings_of
from trueground.evaluate.parts import make_parts
from trueground.evaluate.questions import RunSettings, make_run_plan
from trueground.evaluate.session import Estimate, estimate_run
from trueground.reports.prompts import render_prompts
from trueground.reports.terminal import render_estimates, render_run, render_runs
from trueground.studies.sweep import (
    SweepOutcome,
    SweepRun,
    draw,
    pairs_of,
    place,
    studies_of,
    sweep,
    variants,
)


def start(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Mapping[str, Value | Sequence[str]],
    **given: Any,
) -> None:
    """Run the benchmark's tasks on every model named, and print what came of it."""
    check_numbers(given)
    cache = not given["no_cache"]
    judges = given["judge"] or benchmark.judge(options)  # type: ignore[arg-type]
    made = make_parts(
        judges,
        given["decomposer"],
        given["rater"],
        cache=cache,
        calibration=given["judge_calibration"],
    )
    with closing(made) as parts, _scratch(given["dry_run"]) as scratch:
        _start(benchmark, tasks, options, given, settings_of(given, parts), scratch)


@contextmanager
def _scratch(dry_run: bool) -> Iterator[Path | None]:
    """A folder for what a dry run must make to count its prompts; it goes at the end."""
    if not dry_run:
        yield None
        return
    # Windows keeps what is still mapped into memory.
    with TemporaryDirectory(prefix="trueground-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _start(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Mapping[str, Value | Sequence[str]],
    given: Mapping[str, Any],
    settings: RunSettings,
    scratch: Path | None,
) -> None:
    names = given["model"]
    models = models_of(given)
    with progress_bar(given["quiet"] or given["no_progress"]) as progress:
        sources = Sources(
            given["data"],
            None,
            names[0] if len(names) == 1 else None,
            lambda word: typer.echo(f"trueground: {word}", err=True),
            progress,
            scratch,
            limit=settings.limit,
            cache=settings.cache,
        )
        chosen = variants(benchmark, tasks, options, sources, given["prompt"] or ())
        pairs = pairs_of(chosen, models)
    _tell_unused(pairs, settings)
    name = "-".join([benchmark.name, *(tasks if len(tasks) == 1 else ())])
    out, resumed = (given["out"], False) if given["out"] else place(name, pairs, settings)
    if given["dry_run"]:
        _show_estimates(pairs, out, settings, given["format_"])
        return
    if resumed:
        typer.echo(f"trueground: going on with the unfinished run in {out}", err=True)
    with progress_bar(given["quiet"] or given["no_progress"]) as progress:
        shown = RunSettings(**(vars(settings) | {"progress": progress}))
        outcomes = sweep(pairs, out, shown)
    prompts = studies_of(outcomes)
    page = draw(outcomes, out, prompts)
    for outcome in outcomes:
        for line in outcome.notes():
            typer.echo(f"trueground: {line}", err=True)
    if settings.parts.note:
        typer.echo(f"trueground: {settings.parts.note}", err=True)
    if given["format_"] is Format.JSON or not given["quiet"]:
        _show(outcomes, given["format_"], prompts)
    if page is not None and given["format_"] is Format.TEXT and not given["quiet"]:
        typer.echo(f"side by side: {page}")
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        raise typer.Exit(errors[0].exit_code)


def _tell_unused(pairs: Sequence[SweepRun], settings: RunSettings) -> None:
    """Say before any call what was given and is of no use in any of the runs."""
    if settings.parts.calibrations:
        found = [make_run_plan(pair.task, settings).unused for pair in pairs]
        if found and all(found):
            typer.echo(f"trueground: {found[0]}", err=True)


def _show(
    outcomes: Sequence[SweepOutcome], format_: Format, prompts: Sequence[Mapping[str, Any]]
) -> None:
    finished = [outcome for outcome in outcomes if outcome.result is not None]
    if format_ is Format.JSON:
        found = [outcome.as_json() for outcome in outcomes]
        single: Any = found[0] if len(found) == 1 else found
        if prompts:
            single = {"runs": found, "prompts": prompts}
        typer.echo(orjson.dumps(single, option=orjson.OPT_INDENT_2))
    elif len(outcomes) == 1 and finished:
        typer.echo(render_run(finished[0].summary, finished[0].manifest, finished[0].path))
    elif finished:
        typer.echo(
            render_runs([(one.run.label, one.summary, one.manifest, one.path) for one in finished])
        )
        for study in prompts:
            typer.echo("\n" + render_prompts(study))


def _show_estimates(
    pairs: Sequence[SweepRun], out: Path, settings: RunSettings, how: Format
) -> None:
    rows: list[tuple[str, str, Estimate]] = [
        (
            pair.model.name,
            f"{pair.task.benchmark}/{pair.label}",
            estimate_run(pair.task, pair.model, out / pair.where, settings),
        )
        for pair in pairs
    ]
    if how is Format.JSON:
        found = [{"model": m, "task": t, **vars(e)} for m, t, e in rows]
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    typer.echo(render_estimates([(m, t, vars(e)) for m, t, e in rows]))
