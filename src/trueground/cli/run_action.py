"""What `trueground run` does with its options: read them, run the sweep, print, exit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import typer

from trueground.benchmarks.base import Benchmark, Sources, Value
from trueground.cli.options import Format
from trueground.cli.progress import progress_bar
from trueground.errors import UsageError
from trueground.evaluate.estimate import Estimate, estimate
from trueground.evaluate.run_settings import RunSettings
from trueground.models.base import ChatModel, Params
from trueground.models.options import ModelOptions
from trueground.models.pricing import read_prices
from trueground.models.registry import make_model
from trueground.reports.terminal import render_estimates, render_run, render_runs
from trueground.studies.sweep import Finished, Pair, pairs_of, place, sweep


def start(
    benchmark: Benchmark, tasks: Sequence[str], options: Mapping[str, Value], **given: Any
) -> None:
    """Run the benchmark's tasks on every model named, and print what came of it."""
    sources = Sources(given["data"], given["prompt"])
    prepared = [benchmark.prepare(task, options, sources) for task in tasks]
    pairs = pairs_of(prepared, _models(given))
    settings = _settings(given)
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
    for outcome in outcomes:
        for line in outcome.notes():
            typer.echo(f"trueground: {line}", err=True)
    if given["format_"] is Format.JSON or not given["quiet"]:
        _show(outcomes, given["format_"])
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        raise typer.Exit(errors[0].exit_code)


def _models(given: Mapping[str, Any]) -> list[ChatModel]:
    """The models named, each with its own endpoint where several are given."""
    names: list[str] = given["model"]
    urls = _one_each("--base-url", given["base_url"], names)
    keys = _one_each("--api-key-env", given["api_key_env"], names)
    return [
        make_model(
            name,
            ModelOptions(
                base_url=url or None,
                api_key_env=key or None,
                api=given["api"].value,
                max_connections=given["max_connections"],
                rpm=given["rpm"],
                tpm=given["tpm"],
                timeout=given["timeout"],
                deadline=given["deadline"],
                max_attempts=given["max_attempts"],
                wrapper=given["wrapper"],
                batch_size=given["batch_size"],
                quantize=given["quantize"].value if given["quantize"] else None,
                device_map=given["device_map"],
                dtype=given["dtype"],
                trust_remote_code=given["trust_remote_code"],
            ),
        )
        for name, url, key in zip(names, urls, keys, strict=True)
    ]


def _one_each(option: str, values: list[str] | None, names: Sequence[str]) -> list[str]:
    values = values or [""]
    if len(values) == 1:
        return values * len(names)
    if len(values) != len(names):
        raise UsageError(
            f"{option} is given {len(values)} times for {len(names)} models; give it once for all, "
            "or once for each --model in the same order"
        )
    return values


def _settings(given: Mapping[str, Any]) -> RunSettings:
    seed = given["seed"]
    params = Params(
        temperature=given["temperature"],
        top_p=given["top_p"],
        top_k=given["top_k"],
        min_tokens=given["min_tokens"],
        max_tokens=given["max_tokens"],
        seed=seed,
        extra=dict(map(_extra, given["param"] or ())),
    )
    return RunSettings(
        params=params,
        limit=given["limit"],
        repeats=given["repeats"],
        by=tuple(given["by"] or ()),
        seed=0 if seed is None else seed,
        cache=not given["no_cache"],
        retry_failed=given["retry_failed"],
        batch=given["batch"],
        poll_seconds=given["poll"],
        prices=read_prices(given["prices"]) if given["prices"] else None,
        time_limit=given["time_limit"],
        keep_records=not given["no_records"],
        command=["trueground", *sys.argv[1:]],
    )


def _extra(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        if not equals or not name.strip():
            raise ValueError
        return name.strip(), orjson.loads(value)
    except ValueError:
        raise UsageError(
            f"--param {text!r} cannot be read; write NAME=JSON, as in reasoning_effort='\"low\"'"
        ) from None


def _show(outcomes: Sequence[Finished], format_: Format) -> None:
    finished = [outcome for outcome in outcomes if outcome.result is not None]
    if format_ is Format.JSON:
        found = [outcome.as_json() for outcome in outcomes]
        single = found[0] if len(found) == 1 else found
        typer.echo(orjson.dumps(single, option=orjson.OPT_INDENT_2))
    elif len(outcomes) == 1 and finished:
        typer.echo(render_run(finished[0].summary, finished[0].manifest, finished[0].path))
    elif finished:
        typer.echo(render_runs([(one.summary, one.manifest, one.path) for one in finished]))


def _show_estimates(pairs: Sequence[Pair], out: Path, settings: RunSettings, how: Format) -> None:
    rows: list[tuple[str, str, Estimate]] = [
        (
            pair.model.name,
            f"{pair.task.benchmark}/{pair.task.name}",
            estimate(pair.task, pair.model, out / pair.where, settings),
        )
        for pair in pairs
    ]
    if how is Format.JSON:
        found = [{"model": m, "task": t, **vars(e)} for m, t, e in rows]
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    typer.echo(render_estimates([(m, t, vars(e)) for m, t, e in rows]))
