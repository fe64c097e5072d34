"""What `trueground build` does with its options: read them, build, print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import typer

from trueground.builders.asking.models import EndpointDefaults
from trueground.builders.base import Builder
from trueground.builders.build import BuildSettings, Built, build, dry_run
from trueground.builders.estimate import Estimated
from trueground.cli._oldoptions import Format
from trueground.cli._output import command_line, progress_bar
from trueground.cli.run_given import check_numbers, extra
from trueground.errors import UsageError
from trueground.models.pricing import price_of, read_prices
from trueground.reports.building import render_built, render_estimated

_NOTHING_LEFT = 3  # as where too few items could be scored


def start(
    builder: Builder, models: Mapping[str, str], options: Mapping[str, Any], **given: Any
) -> None:
    """Build, or say what it would cost, and print what came of it. Exit 3: no item is left."""
    check_numbers(given)
    with progress_bar(given["quiet"] or given["no_progress"]) as progress:
        settings = _settings(given, progress)
        do = dry_run if given["dry_run"] else build
        found = do(
            builder.name,
            given["sources"],
            given["out"],
            models=models,
            options=options,
            settings=settings,
        )
    if given["format_"] is Format.JSON:
        typer.echo(orjson.dumps(_as_json(found), option=orjson.OPT_INDENT_2))
    elif isinstance(found, Built):
        if not given["quiet"]:
            typer.echo(render_built(found.summary, found.path, found.spent, _usd(found, settings)))
    else:
        typer.echo(render_estimated(_as_json(found)))
    if isinstance(found, Built) and not found.items:
        raise typer.Exit(_NOTHING_LEFT)


def _usd(built: Built, settings: BuildSettings) -> dict[str, float]:
    """What each role cost, where prices were given."""
    if settings.prices is None:
        return {}
    return {
        role: price_of(one["name"], settings.prices).cost(one["tokens_in"], one["tokens_out"])
        for role, one in built.spent.items()
    }


def _as_json(found: Built | Estimated) -> dict[str, Any]:
    if isinstance(found, Built):
        return {**found.summary, "spent": found.spent, "out": str(found.path)}
    stages = [vars(one) for one in found.stages]
    return {"items": found.items, "done": found.done, "stages": stages}


def _settings(given: Mapping[str, Any], progress: Any) -> BuildSettings:
    return BuildSettings(
        seed=given["seed"],
        limit=given["limit"],
        cache=not given["no_cache"],
        prompts=dict(map(_prompt, given["prompt"] or ())),
        labels=given["labels"],
        max_failed=given["max_failed"],
        endpoint=EndpointDefaults(
            base_url=given["base_url"],
            api_key_env=given["api_key_env"],
            max_connections=given["max_connections"],
            rpm=given["rpm"],
            tpm=given["tpm"],
            timeout=given["timeout"],
            deadline=given["deadline"],
            max_attempts=given["max_attempts"],
            temperature=given["temperature"],
            max_tokens=given["max_tokens"],
            extra=dict(map(extra, given["param"] or ())),
        ),
        prices=read_prices(given["prices"]) if given["prices"] else None,
        note=lambda word: typer.echo(f"trueground: {word}", err=True),
        progress=progress,
        command=command_line(),
    )


def _prompt(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not name.strip() or not path.strip():
        raise UsageError(f"--prompt {text!r} cannot be read; write NAME=FILE")
    return name.strip(), Path(path.strip())
