"""The options that every benchmark's command has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trueground.cli._oldoptions import (
    Decomposer,
    Format,
    FormatOption,
    JudgeCalibration,
    Judges,
    NoCache,
    NoProgress,
    Quiet,
    Rater,
)


class Api(StrEnum):
    """Which of the two ways of asking an endpoint offers."""

    CHAT = "chat"
    COMPLETIONS = "completions"


class Quantize(StrEnum):
    """How a local model's weights are packed."""

    FOUR_BIT = "4bit"


def common(
    *,
    model: Annotated[
        list[str],
        typer.Option(help="Name at the endpoint, or fake:…, replay:FILE, hf:NAME. Repeatable."),
    ],
    base_url: Annotated[
        list[str] | None,
        typer.Option(help="Endpoint, as http://localhost:8000/v1: one for all, or one a --model."),
    ] = None,
    api_key_env: Annotated[
        list[str] | None,
        typer.Option(
            help="Variable that holds the key: one for all, or one a --model. "
            "Default: OPENAI_API_KEY."
        ),
    ] = None,
    api: Annotated[Api, typer.Option(help="chat, or plain completions.")] = Api.CHAT,
    data: Annotated[
        Path | None, typer.Option(help="The benchmark's data: a file or folder of your own.")
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help="A prompt file in place of the benchmark's, or `default`. Repeatable: each is a "
            "run of its own, and the runs are compared."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Run directory. Default: the unfinished run of this command, "
            "else runs/<utc-time>-<name>/"
        ),
    ] = None,
    judge: Judges = None,
    judge_calibration: JudgeCalibration = None,
    decomposer: Decomposer = "rules",
    rater: Rater = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="Metrics beside the benchmark's own, as for score. Repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Answers to each question.")] = 1,
    temperature: Annotated[float | None, typer.Option(min=0.0)] = None,
    top_p: Annotated[float | None, typer.Option(min=0.0, max=1.0)] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Where the endpoint knows it.")] = None,
    min_tokens: Annotated[
        int | None, typer.Option(min=1, help="Where the endpoint knows it.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest answer.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Sent to the model, and that of the intervals.")
    ] = None,
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
    time_limit: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for this session; resume later.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Call and write nothing; show what it would cost.")
    ] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Through the endpoint's batch files: slower, cheaper.")
    ] = False,
    poll: Annotated[
        float, typer.Option(min=0.01, help="--batch: seconds to the first look; grows to 60.")
    ] = 5.0,
    prices: Annotated[
        Path | None,
        typer.Option(help='JSON, US dollars per million tokens: {"m": {"input": 1, "output": 2}}'),
    ] = None,
    no_cache: NoCache = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what failed, and only that.")
    ] = False,
    by: Annotated[list[str] | None, typer.Option(help="Break down by a field. Repeatable.")] = None,
    wrapper: Annotated[
        Path | None,
        typer.Option(help="Text around {system} and {user}, for models without a chat template."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="hf: prompts at once.")] = 8,
    quantize: Annotated[Quantize | None, typer.Option(help="hf: 4bit (needs a GPU).")] = None,
    device_map: Annotated[str | None, typer.Option(help="hf: auto, cpu, cuda …")] = None,
    dtype: Annotated[str | None, typer.Option(help="hf: float32, bfloat16 …")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="hf: run code that comes with a model.")
    ] = False,
    no_records: Annotated[
        bool, typer.Option("--no-records", help="Do not keep the records with the run.")
    ] = False,
    format_: FormatOption = Format.TEXT,
    quiet: Quiet = False,
    no_progress: NoProgress = False,
) -> None:
    """A signature only: what `trueground run BENCHMARK` takes."""
