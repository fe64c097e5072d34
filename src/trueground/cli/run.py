"""`trueground run`: ask a model a benchmark's questions, and score its answers.

Every benchmark is a command of its own, with the common options and those that it declares. They
are made when they are asked for, so that other commands do not wait for them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from trueground.cli.run_options import common

if TYPE_CHECKING:
    from trueground.benchmarks.base import Benchmark, BenchmarkOption


class BenchmarkGroup(TyperGroup):
    """`run` with a command for every benchmark, and for each of its tasks as `NAME/TASK`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the benchmarks."""
        from trueground.benchmarks.registry import all_benchmarks

        return list(all_benchmarks())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a benchmark, or of one of its tasks. Raises UsageError."""
        from trueground.benchmarks.registry import get_benchmark
        from trueground.errors import unknown_name

        name, slash, task = cmd_name.partition("/")
        benchmark = get_benchmark(name)
        if slash and task not in benchmark.tasks:
            raise unknown_name(f"task of {name}", task, benchmark.tasks)
        return _command(benchmark, (task,) if slash else benchmark.default_tasks, cmd_name)


group = typer.Typer(
    cls=BenchmarkGroup,
    name="run",
    help="Ask a model a benchmark's questions, then score its answers. Goes on where it stopped.",
    subcommand_metavar="BENCHMARK[/TASK] --model NAME [OPTIONS]",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _command(benchmark: Benchmark, tasks: tuple[str, ...], name: str) -> Any:
    own = [option.name.replace("-", "_") for option in benchmark.options]

    def run(**given: Any) -> None:
        from trueground.cli.run_action import start

        options = {key.replace("_", "-"): given.pop(key) for key in own}
        start(benchmark, tasks, options, **given)

    parameters = [*inspect.signature(common, eval_str=True).parameters.values()]
    parameters += [parameter_of(option) for option in benchmark.options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=_help(benchmark, tasks), context_settings=_HELP)(run)
    return typer.main.get_command(app)


_HELP = {"help_option_names": ["-h", "--help"]}


def _help(benchmark: Benchmark, tasks: tuple[str, ...]) -> str:
    chosen = f"Runs {', '.join(tasks)}." if len(tasks) > 1 else f"Task {tasks[0]}."
    return (
        f"{benchmark.doc[0].upper()}{benchmark.doc[1:]} ({benchmark.source}). {chosen} "
        f"One task by itself: {benchmark.name}/TASK, with TASK one of {', '.join(benchmark.tasks)}."
    )


def parameter_of(option: BenchmarkOption) -> inspect.Parameter:
    """A benchmark's option as a parameter that typer understands."""
    flag = isinstance(option.default, bool)
    allowed = f" [{'|'.join(option.allowed)}]" if option.allowed else ""
    several = ". Repeatable: each is a run of its own" if option.varied else ""
    said = typer.Option(
        f"--{option.name}", help=option.doc + allowed + several, show_default=not flag
    )
    kind: Any = bool if flag else (str | None if option.default is None else str)
    default: Any = option.default
    if option.varied:
        kind = list[str] | None if default is None else list[str]
        default = None if default is None else [default]
    return inspect.Parameter(
        option.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, said],
    )
