"""`trueground build`: make a benchmark of a user's own documents or graph.

Every builder is a command of its own, with the common options and those that it declares. They are
made when they are asked for, so that other commands do not wait for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import (
    HELP,
    ListedGroup,
    as_command,
    make_command,
    order_options,
    parameter_of,
    takes,
)
from trueground.cli._output import Screen, command_line, echo_note
from trueground.cli.exit_codes import Outcome, end_with
from trueground.evaluate.score import OneShard

if TYPE_CHECKING:
    from trueground.builders.base import Builder
    from trueground.builders.settings import BuildSettings, EndpointDefaults

# The options in the order of the help; those of the builder follow.
_ORDER = """
    sources model out base_url api_key_env prompts labels limit seed temperature max_tokens extra
    max_connections rpm tpm timeout deadline max_attempts max_failed dry_run shard prices cache
    reuse_bad format_ quiet no_progress
"""


class BuilderGroup(ListedGroup):
    """`build` with a command for every builder."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the builders."""
        from trueground.builders.registry import BUILDERS

        return [*BUILDERS, "example", "report"]

    def help_of(self, name: str) -> str | None:
        """What the builder makes, and of what."""
        if name in ("example", "report"):
            return (example if name == "example" else report).__doc__
        from trueground.builders.registry import get_builder

        return _help(get_builder(name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a builder, `example` or `report`. Raises UsageError."""
        if cmd_name in ("example", "report"):
            return make_command(cmd_name, example if cmd_name == "example" else report)
        from trueground.builders.registry import get_builder

        return _command(get_builder(cmd_name))


group = typer.Typer(
    cls=BuilderGroup,
    name="build",
    help="Make a benchmark of your own documents or graph. Goes on where it stopped.",
    subcommand_metavar="KIND SOURCE… --model NAME --out DIR [OPTIONS]",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=HELP,
)


def _command(builder: Builder) -> Any:
    from trueground.builders.settings import BuildSettings, EndpointDefaults

    first, *others = (role.name for role in builder.roles)

    fields = {option.field: option.name for option in builder.options}
    roles = {"model": first, **{_field(role): role for role in others}}

    def run(**values: Any) -> None:
        options = {name: values[field] for field, name in fields.items()}
        models = {role: values[field] for field, role in roles.items() if values[field] is not None}
        own = {*fields, *roles}
        common = {name: value for name, value in values.items() if name not in own}
        _start(builder, models, options, **common)

    parameters = order_options(_ORDER, _own_options, EndpointDefaults, BuildSettings)
    for role in builder.roles[1:]:
        info = typer.Option(f"--{role.name}-model", help=f"{role.doc} NAME, or NAME(base_url=URL).")
        kind = Annotated[str | None, info]
        parameters.append(
            inspect.Parameter(
                _field(role.name), inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind
            )
        )
    parameters += [parameter_of(option) for option in builder.options]
    settings = {"settings": BuildSettings, "endpoint": EndpointDefaults}
    command = as_command(run, parameters, settings)
    return make_command(builder.name, command, _help(builder))


def _help(builder: Builder) -> str:
    prompts = f" Prompts: {', '.join(builder.prompts)}." if builder.prompts else ""
    return f"{builder.doc} ({builder.source}). SOURCE: {builder.takes}.{prompts}"


def _field(role: str) -> str:
    return f"{role.replace('-', '_')}_model"


def _own_options(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE", help="Files or folders.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="Who writes: a name at the endpoint, or fake:…, replay:FILE, hf:NAME."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the build; goes on with one there.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Call and write nothing; show what it would cost.")
    ] = False,
    shard: OneShard = None,
    screen: Screen,
) -> None:
    """A signature only: what `trueground build KIND` takes beside the fields of BuildSettings."""


def _start(
    builder: Builder,
    models: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    sources: list[Path],
    out: Path,
    dry_run: bool,
    shard: str | None = None,
    settings: BuildSettings,
    endpoint: EndpointDefaults,
    screen: Screen,
) -> None:
    """Build, or say what it would cost, and print what came of it."""
    from trueground.api.pages import write_report
    from trueground.builders.build import ask_shard, estimate_build, run_build
    from trueground.builders.settings import BuildRequest
    from trueground.models.prices import price_of
    from trueground.net.pool import share_limits
    from trueground.options import parse_shard
    from trueground.reports.listings import render_built, render_estimated

    part = None if shard is None else parse_shard(shard)
    share_limits(1 if part is None else part[1])
    with screen.progress() as progress:
        settings = replace(
            settings,
            endpoint=endpoint,
            shard=part,
            note=echo_note,
            progress=progress,
            command=command_line(),
        )
        request = BuildRequest(
            builder.name, sources, out, models=models, options=options, settings=settings
        )
        if dry_run:
            expected = estimate_build(request)
        elif part is not None:
            ask_shard(request)
            echo_note(f"when all shards are asked: trueground merge {out}")
            return
        else:
            result = run_build(request, write_report)
    if dry_run:
        stages = [vars(one) for one in expected.stages]
        entries = {"items": expected.items, "done": expected.done, "stages": stages}
        Screen(screen.format).show(entries, lambda: render_estimated(entries))
        return
    usd = {}  # of each role, where prices were given
    if settings.prices is not None:
        for role, one in result.spent.items():
            price = price_of(one["name"], settings.prices)
            usd[role] = price.cost(one["tokens_in"], one["tokens_out"])
    screen.show(
        {**result.summary, "spent": result.spent, "out": str(result.path)},
        lambda: render_built(result.summary, result.path, result.spent, usd),
    )
    end_with(Outcome(uncovered=not result.items))


def example(
    kind: Annotated[str, typer.Argument(help="The builder: contexts, grounding, kalma.")],
    out: Annotated[Path, typer.Option(help="A folder that is new or empty.")],
) -> None:
    """Copy a builder's small example into a folder, and show the command that builds it."""
    from trueground.builders.registry import copy_example

    typer.echo(copy_example(kind, out).rstrip())


@takes()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of a finished build.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="Merged human labels, as `annotate import` writes them."),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Draw the page and the data card of a build again, with labels that came after it."""
    from trueground.reports.build_report import draw_again

    drawn = draw_again(folder, labels)
    lines = [
        f"{kind['kind']}  {kind['labelled']:,} of {kind['tasks']:,} tasks labelled"
        for kind in (drawn.people or {}).get("kinds", ())
    ]
    told = {"page": str(drawn.page), "card": str(drawn.card), "people": drawn.people}
    screen.show(told, lambda: "\n".join([*lines, f"page   {drawn.page}\ncard   {drawn.card}"]))
