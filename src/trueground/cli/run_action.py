"""What `trueground run` does with its options: read them, run the sweep, print, exit."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import typer

from trueground.benchmarks.base import Benchmark, Sources
from trueground.cli.options import Format
from trueground.cli.progress import progress_bar
from trueground.errors import UsageError
from trueground.evaluate.estimate import Estimate, estimate
from trueground.evaluate.parts import Parts, make_parts
from trueground.evaluate.run_settings import RunSettings
from trueground.models.base import ChatModel, Params
from trueground.models.options import ModelOptions, see_variable
from trueground.models.pricing import read_prices
from trueground.models.registry import make_model
from trueground.reports.terminal import render_estimates, render_run, render_runs
from trueground.studies.sweep import Finished, Pair, draw, pairs_of, place, sweep
from trueground.studies.variants import Given, variants

# The largest whole number that every JSON reader takes as it is, and that of 64 bits for seeds.
_LARGEST, _LARGEST_SEED = 2**53 - 1, 2**63 - 1
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = {"key", "apikey", "token", "secret", "password", "authorization", "credentials"}
# Numbers of vocabulary entries (stop_token_ids), and OpenAI's name for calls that share a cache.
_NO_SECRETS = re.compile(r".*_ids?|prompt_cache_key")


def start(benchmark: Benchmark, tasks: Sequence[str], options: Given, **given: Any) -> None:
    """Run the benchmark's tasks on every model named, and print what came of it."""
    _see_numbers(given)
    cache = not given["no_cache"]
    judges = given["judge"] or "lexical"
    made = make_parts(judges, given["decomposer"], given["rater"], cache=cache)
    with closing(made) as parts, _scratch(given["dry_run"]) as scratch:
        _start(benchmark, tasks, options, given, _settings(given, parts), scratch)


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
    options: Given,
    given: Mapping[str, Any],
    settings: RunSettings,
    scratch: Path | None,
) -> None:
    names = given["model"]
    models = _models(given)
    with progress_bar(given["quiet"] or given["no_progress"]) as progress:
        sources = Sources(
            given["data"],
            given["prompt"],
            names[0] if len(names) == 1 else None,
            lambda word: typer.echo(f"trueground: {word}", err=True),
            progress,
            scratch,
        )
        pairs = pairs_of(variants(benchmark, tasks, options, sources), models)
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
    page = draw(outcomes, out)
    for outcome in outcomes:
        for line in outcome.notes():
            typer.echo(f"trueground: {line}", err=True)
    if settings.parts.note:
        typer.echo(f"trueground: {settings.parts.note}", err=True)
    if given["format_"] is Format.JSON or not given["quiet"]:
        _show(outcomes, given["format_"])
    if page is not None and given["format_"] is Format.TEXT and not given["quiet"]:
        typer.echo(f"side by side: {page}")
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors:
        raise typer.Exit(errors[0].exit_code)


def _models(given: Mapping[str, Any]) -> list[ChatModel]:
    """The models named, each with its own endpoint where several are given."""
    names: list[str] = given["model"]
    urls = _one_each("--base-url", given["base_url"], names)
    keys = _one_each("--api-key-env", _variables(given["api_key_env"]), names)
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


def _variables(names: list[str] | None) -> list[str] | None:
    """The names as they are. UsageError for what may be a key itself, without showing it."""
    for name in names or ():
        see_variable("--api-key-env", name)
    return names


def _see_numbers(given: Mapping[str, Any]) -> None:
    """UsageError for numbers that no model and no file takes: endless ones, too long ones."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{option} {value}: expected a finite number")
        most = _LARGEST_SEED if name == "seed" else _LARGEST
        if isinstance(value, int) and value > most:
            raise UsageError(f"{option} {value}: expected a whole number up to {most:,}")


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


def _settings(given: Mapping[str, Any], parts: Parts) -> RunSettings:
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
        also=tuple(given["also"] or ()),
        parts=parts,
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
    name, equals, json = (part.strip() for part in text.partition("="))
    if _is_secret(name):
        raise _secret_param(name)
    try:
        if not equals or not name:
            raise ValueError
        value = orjson.loads(json)
    except ValueError:
        raise UsageError(
            f"--param {name!r} cannot be read; write NAME=JSON, as in reasoning_effort='\"low\"'"
        ) from None
    if inner := _secret_within(value):
        raise _secret_param(f"{name} … {inner}")
    return name, value


def _secret_within(value: Any) -> str | None:
    """The first name in the value that holds a secret: headers, and whatever else is nested."""
    if isinstance(value, list):
        return next(filter(None, map(_secret_within, value)), None)
    if not isinstance(value, dict):
        return None
    own = (name for name, inner in value.items() if isinstance(inner, str) and _is_secret(name))
    return next(own, None) or _secret_within(list(value.values()))


def _is_secret(name: str) -> bool:
    """Is a word of the name `key`, `token` or the like? In `max_tokens` there is none."""
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_SECRETS) and not _NO_SECRETS.fullmatch(name)


def _secret_param(name: str) -> UsageError:
    return UsageError(
        f"--param {name} looks like a secret, and parameters are written into the run's files. "
        "Put it into an environment variable, and name that with --api-key-env"
    )


def _show(outcomes: Sequence[Finished], format_: Format) -> None:
    finished = [outcome for outcome in outcomes if outcome.result is not None]
    if format_ is Format.JSON:
        found = [outcome.as_json() for outcome in outcomes]
        single = found[0] if len(found) == 1 else found
        typer.echo(orjson.dumps(single, option=orjson.OPT_INDENT_2))
    elif len(outcomes) == 1 and finished:
        typer.echo(render_run(finished[0].summary, finished[0].manifest, finished[0].path))
    elif finished:
        typer.echo(
            render_runs([(one.pair.label, one.summary, one.manifest, one.path) for one in finished])
        )


def _show_estimates(pairs: Sequence[Pair], out: Path, settings: RunSettings, how: Format) -> None:
    rows: list[tuple[str, str, Estimate]] = [
        (
            pair.model.name,
            f"{pair.task.benchmark}/{pair.label}",
            estimate(pair.task, pair.model, out / pair.where, settings),
        )
        for pair in pairs
    ]
    if how is Format.JSON:
        found = [{"model": m, "task": t, **vars(e)} for m, t, e in rows]
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    typer.echo(render_estimates([(m, t, vars(e)) for m, t, e in rows]))
