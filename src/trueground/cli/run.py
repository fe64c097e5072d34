"""`trueground run`: ask a model a benchmark's questions, and score its answers.

Every benchmark is a command of its own, with the common options and those that it declares. They
are made when they are asked for, so that other commands do not wait for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import CommandGroup
from trueground.cli._output import Screen, command_line, echo_note
from trueground.cli.exit_codes import Outcome, check_scored, end_with
from trueground.errors import UsageError
from trueground.evaluate import OneShard

if TYPE_CHECKING:
    from trueground.benchmarks import Benchmark
    from trueground.evaluate import RunOptions, RunSettings
    from trueground.models import ChatModel, ModelOptions, Params
    from trueground.studies import SweepRuns


# The options in the order of the help; those of the benchmark follow.
_ORDER = """
    model base_url api_key_env api data prompt out judge judge_calibration decomposer rater also
    limit repeats temperature top_p top_k min_tokens max_tokens seed extra max_connections rpm tpm
    timeout deadline max_attempts time_limit dry_run shard batch poll_seconds prices cache
    retry_failed by labels labels_drawn wrapper batch_size quantize device_map dtype
    trust_remote_code keep_records format_ quiet no_progress
"""


class BenchmarkGroup(CommandGroup):
    """`run` with a command for every benchmark, and for each of its tasks as `NAME/TASK`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the benchmarks."""
        from trueground.benchmarks import all_benchmarks

        return list(all_benchmarks())

    def help_of(self, name: str) -> str | None:
        """What the benchmark is, and which tasks are run."""
        return _help(*_read_name(name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a benchmark, or of one of its tasks. Raises UsageError."""
        from trueground.evaluate import RunOptions, RunRequest
        from trueground.models import ModelOptions, Params

        benchmark, tasks = _read_name(cmd_name)
        fields = {option.field: option.name for option in benchmark.declared}

        def run(**values: Any) -> None:
            options = {name: values[field] for field, name in fields.items()}
            common = {name: value for name, value in values.items() if name not in fields}
            _start(benchmark, tasks, options, **common)

        return self.make_component_command(
            cmd_name,
            run,
            order=_ORDER,
            sources=(_own_options, RunRequest, ModelOptions, Params),
            settings={"settings": RunOptions, "model_options": ModelOptions, "params": Params},
            declared=benchmark.declared,
        )


def _read_name(written: str) -> tuple[Benchmark, tuple[str, ...]]:
    """The benchmark and its tasks of NAME or NAME/TASK. Raises UsageError."""
    from trueground.benchmarks import get_benchmark

    name, slash, task = written.partition("/")
    benchmark = get_benchmark(name)
    if slash and task not in benchmark.tasks:
        raise UsageError.unknown_name(f"task of {name}", task, benchmark.tasks)
    return benchmark, (task,) if slash else benchmark.default_tasks


def _help(benchmark: Benchmark, tasks: tuple[str, ...]) -> str:
    chosen = f"Runs {', '.join(tasks)}." if len(tasks) > 1 else f"Task {tasks[0]}."
    return (
        f"{benchmark.doc[0].upper()}{benchmark.doc[1:]}. Paper: {benchmark.source}. {chosen} "
        f"To run one task, use {benchmark.name}/TASK with one of {', '.join(benchmark.tasks)}."
    )


group = BenchmarkGroup.as_app(
    "run",
    "Run a benchmark with a model and score its answers. Rerun to resume.",
    "BENCHMARK[/TASK] --model NAME [OPTIONS]",
)


def _own_options(
    *,
    model: Annotated[
        list[str],
        typer.Option(
            help="Model name at the endpoint, hf:NAME, replay:FILE or fake:TEXT. Repeatable."
        ),
    ],
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Endpoint URL, such as http://localhost:8000/v1. Repeat once per "
                "--model, or give one for all."
            )
        ),
    ] = None,
    api_key_env: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Environment variable with the API key. Repeat once per --model, or "
                "give one for all. Default: OPENAI_API_KEY."
            )
        ),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Prompt file to use instead of the benchmark's, or `default`. "
                "Repeatable: makes one run per prompt and compares the runs."
            )
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Run directory. Default: the unfinished run of this command, or "
                "runs/<utc-time>-<name>/"
            )
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the cost without calling the model.")
    ] = False,
    shard: OneShard = None,
    screen: Screen,
) -> None:
    """A signature only: what `trueground run BENCHMARK` takes and `trueground.run` does not."""


def _start(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Mapping[str, str | bool | Sequence[str] | None],
    *,
    model: list[str],
    base_url: list[str] | None,
    api_key_env: list[str] | None,
    settings: RunOptions,
    model_options: ModelOptions,
    params: Params,
    dry_run: bool,
    shard: tuple[int, int] | None = None,
    judge: Any = None,
    judge_calibration: Any = None,
    decomposer: str,
    rater: str | None = None,
    **values: Any,
) -> None:
    """Run the benchmark's tasks on every model named, and print what came of it."""
    from trueground.evaluate import Components
    from trueground.models import make_model
    from trueground.net import Limiter

    Limiter.share(1 if shard is None else shard[1])
    created = Components.make(
        judge or benchmark.judge(options),  # type: ignore[arg-type]
        decomposer,
        rater,
        cache=settings.cache,
        calibration=judge_calibration,
    )
    with closing(created) as parts, ExitStack() as stack:
        scratch = None
        if dry_run:  # what it must make to count its prompts goes at the end
            # Windows keeps what is still mapped into memory.
            folder = TemporaryDirectory(prefix="trueground-", ignore_cleanup_errors=True)
            scratch = Path(stack.enter_context(folder))
        run_options = replace(settings, params=params, command=command_line())
        run_settings = run_options.with_components(parts, shard=shard)
        for variable in api_key_env or ():
            model_options.check_variable("--api-key-env", variable)
        urls = _one_each("--base-url", base_url, model)
        keys = _one_each("--api-key-env", api_key_env, model)
        models = [
            make_model(name, replace(model_options, base_url=url, api_key_env=key))
            for name, url, key in zip(model, urls, keys, strict=True)
        ]
        _sweep(benchmark, tasks, options, models, model, run_settings, scratch, **values)


def _one_each(option: str, values: list[str] | None, names: Sequence[str]) -> Sequence[str | None]:
    """The value for each model, where one is for all or each has its own."""
    found: list[str | None] = list(values) if values else [None]
    if len(found) == 1:
        return found * len(names)
    if len(found) != len(names):
        raise UsageError(
            f"{option} is given {len(found)} times for {len(names)} models; give it once for all, "
            "or once for each --model in the same order"
        )
    return found


def _sweep(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Mapping[str, str | bool | Sequence[str] | None],
    models: Sequence[ChatModel],
    names: Sequence[str],
    settings: RunSettings,
    scratch: Path | None,
    *,
    data: Path | None = None,
    prompt: list[str] | None,
    out: Path | None,
    screen: Screen,
) -> None:
    from trueground.benchmarks import Sources
    from trueground.evaluate import TaskRun
    from trueground.studies import SweepRuns

    with screen.progress() as progress:
        sources = Sources(
            data,
            None,
            names[0] if len(names) == 1 else None,
            echo_note,
            progress,
            scratch,
            limit=settings.limit,
            cache=settings.cache,
        )
        sweep = SweepRuns.prepare(benchmark, tasks, models, options, sources, prompt or ())
    if settings.labels and len(sweep.runs) > 1:
        raise UsageError(
            f"--labels is for the answers of one run, and these are {len(sweep.runs)}. Start each "
            "run separately, with the labels of its answers"
        )
    if settings.shard is not None:
        _ask_shard(sweep, out, settings, screen)
        return
    if settings.components.calibrations:
        unused = [TaskRun(run.task, run.model, settings).plan.unused for run in sweep.runs]
        echo_note(unused[0] if all(unused) else None)  # before any call
    name = "-".join([benchmark.name, *(tasks if len(tasks) == 1 else ())])
    folder = out or sweep.find_folder(name, settings)
    if scratch is not None:
        estimate = sweep.estimate(folder, settings)
        Screen(screen.format).show_page(estimate.as_json(), estimate.blocks)
        return
    from trueground.reports import write_run_page

    with screen.progress() as progress:
        hooks = replace(settings, progress=progress, write_page=write_run_page)
        result = sweep.run(folder, hooks)
    for outcome in result.outcomes:
        for line in outcome.notes():
            echo_note(line)
    echo_note(settings.components.note)
    if screen.as_json:
        screen.show(result.as_json(), str)
    elif (page := result.page()) is not None:
        screen.say_page(page)
    if result.leaderboard is not None:
        screen.say(f"side by side: {result.leaderboard}")
    ends = []
    for outcome in result.outcomes:
        if outcome.result is None:
            ends.append(Outcome(error=outcome.error))
        else:  # the message says which run it is if nothing of it could be scored
            ends.append(check_scored(outcome.result.summary, f"{outcome.path}: "))
    end_with(*ends)


def _ask_shard(sweep: SweepRuns, out: Path | None, settings: RunSettings, screen: Screen) -> None:
    from trueground.evaluate import TaskRun
    from trueground.runs import RunFiles

    if len(sweep.runs) != 1 or out is None or settings.batch:
        raise UsageError(
            "--shard asks a part of one run: name one model, one task BENCHMARK/TASK and --out, "
            "which all shards share; --batch is not for it"
        )
    with screen.progress() as progress:
        own = replace(settings, progress=progress)
        folder = TaskRun(sweep.runs[0].task, sweep.runs[0].model, own).ask_shard(out)
    echo_note(f"replies in {folder}; when all shards are asked: trueground merge {out}")
    outcomes = RunFiles(folder).read_manifest().outcomes
    failed = outcomes.get("error", 0)
    if failed and failed == sum(outcomes.values()):
        echo_note(f"no call was answered: all {failed:,} failed. --retry-failed asks again")
        end_with(Outcome(uncovered=True))
