"""The options that every builder's command has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._oldoptions import Format, FormatOption, NoCache, NoProgress, Quiet, Seed


def common(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE", help="Files or folders.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="Who writes: a name at the endpoint, or fake:…, replay:FILE, hf:NAME."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the build; goes on with one there.")],
    base_url: Annotated[
        str | None,
        typer.Option(help="Endpoint of all models, as http://localhost:8000/v1."),
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Variable that holds the key. Default: OPENAI_API_KEY.")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE: a prompt of your own. Repeatable."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Merged human labels, as `annotate import` writes them."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N source items.")] = None,
    seed: Seed = 0,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="Of the model that writes; judges have 0.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="NAME=JSON, put into every call as it is. Repeatable."),
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Calls under way at once.")] = 32,
    rpm: Annotated[float | None, typer.Option(min=0.1, help="Requests a minute, at most.")] = None,
    tpm: Annotated[float | None, typer.Option(min=1, help="Tokens a minute, at most.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds for one attempt of a call.")
    ] = 300.0,
    deadline: Annotated[
        float, typer.Option(min=0.01, help="Seconds for a call with all its attempts.")
    ] = 1_800.0,
    max_attempts: Annotated[int, typer.Option(min=1, help="Attempts of a call.")] = 6,
    max_failed: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Stop where more than this share of all falls by failed calls."
        ),
    ] = 0.1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Call and write nothing; show what it would cost.")
    ] = False,
    prices: Annotated[
        Path | None,
        typer.Option(help='JSON, US dollars per million tokens: {"m": {"input": 1, "output": 2}}'),
    ] = None,
    no_cache: NoCache = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """A signature only: what `trueground build KIND` takes."""
