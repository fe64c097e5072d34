"""`trueground build`: makes a benchmark from your own documents or graph.

Every builder is a separate command, with the common options and those that it declares. Commands
are made on demand, so that they don't slow down other commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli import CommandGroup, Screen, end_with, takes
from trueground.evaluate import OneShard
from trueground.options import DeclaredOption, Option

if TYPE_CHECKING:
    from trueground.wings.papers.builders.base import Builder
    from trueground.wings.papers.builders.settings import BuildSettings, EndpointDefaults


# The options in the order of the help; those of the builder follow.
_ORDER = """
    sources model out base_url api_key_env prompts labels limit seed temperature max_tokens extra
    max_connections rpm tpm timeout deadline max_attempts max_failed dry_run shard prices cache
    reuse_bad format_ quiet no_progress
"""

_MODEL_HELP = "NAME, or NAME(base_url=URL)."


class BuilderGroup(CommandGroup):
    """`build` with a command for every builder."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the builders and of the other commands."""
        from trueground.wings.papers.builders.registry import all_builders

        return [*all_builders(), "example", "report"]

    def help_of(self, name: str) -> str | None:
        """Return the help of a command."""
        if name in ("example", "report"):
            return (example if name == "example" else report).__doc__
        from trueground.wings.papers.builders.registry import get_builder

        return _help(get_builder(name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a builder, `example` or `report`. Raises UsageError."""
        if cmd_name in ("example", "report"):
            return self.make_command(cmd_name, example if cmd_name == "example" else report)
        from trueground.wings.papers.builders.registry import get_builder
        from trueground.wings.papers.builders.settings import BuildSettings, EndpointDefaults

        builder = get_builder(cmd_name)
        first, *others = builder.roles
        role_options = []
        roles = {"model": first.name}
        for role in others:
            help_ = Option(f"{role.doc} {_MODEL_HELP}")
            role_options.append(DeclaredOption.of(_field(role.name), str | None, None, help_))
            roles[_field(role.name)] = role.name
        fields = {option.field: option.name for option in builder.options}

        def run(**values: Any) -> None:
            options = {name: values.pop(field) for field, name in fields.items()}
            models = {role: values.pop(field) for field, role in roles.items()}
            models = {role: model for role, model in models.items() if model is not None}
            _start(builder, models, options, **values)

        return self.make_component_command(
            cmd_name,
            run,
            order=_ORDER,
            sources=(_local_options, EndpointDefaults, BuildSettings),
            settings={"settings": BuildSettings, "endpoint": EndpointDefaults},
            declared=[*role_options, *builder.options],
        )


group = BuilderGroup.as_app(
    "build",
    "Build a benchmark from your documents or graph. Rerun to resume.",
    "KIND SOURCE... --model NAME --out DIR [OPTIONS]",
)


def _help(builder: Builder) -> str:
    prompts = f" Prompts: {', '.join(builder.prompts)}." if builder.prompts else ""
    return f"{builder.doc}. Paper: {builder.source}. SOURCE: {builder.takes}.{prompts}"


def _field(role: str) -> str:
    return f"{role.replace('-', '_')}_model"


def _local_options(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE", help="Source files or folders.")
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model that writes: name at the endpoint, hf:NAME, replay:FILE or fake:TEXT."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the build. Rerun to resume an unfinished build.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the cost without calling the model.")
    ] = False,
    shard: OneShard = None,
    screen: Screen,
) -> None:
    """Declare the options of `trueground build KIND` that aren't fields of the settings."""


def _start(
    builder: Builder,
    models: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    sources: list[Path],
    out: Path,
    dry_run: bool,
    shard: tuple[int, int] | None = None,
    settings: BuildSettings,
    endpoint: EndpointDefaults,
    screen: Screen,
) -> None:
    """Build or estimate the cost, and print the result."""
    from trueground.models import Price
    from trueground.net import Limiter
    from trueground.wings.papers.builders.api import write_report
    from trueground.wings.papers.builders.build import ask_shard, estimate_build, run_build
    from trueground.wings.papers.builders.pages import show_built, show_estimated
    from trueground.wings.papers.builders.settings import BuildRequest

    Limiter.share(1 if shard is None else shard[1])
    with screen.progress() as progress:
        settings = replace(
            settings,
            endpoint=endpoint,
            shard=shard,
            note=screen.warn,
            progress=progress,
            command=screen.command_line,
        )
        request = BuildRequest(
            builder.name, sources, out, models=models, options=options, settings=settings
        )
        if dry_run:
            expected = estimate_build(request)
        elif shard is not None:
            ask_shard(request)
            screen.warn(f"when all shards are finished, run: trueground merge {out}")
            return
        else:
            result = run_build(request, write_report)
    if dry_run:
        stages = [vars(stage) for stage in expected.stages]
        entries = {"items": expected.items, "done": expected.done, "stages": stages}
        Screen(screen.format).show_page(entries, lambda: show_estimated(entries))
        return
    usd = {}
    if settings.prices is not None:
        for role, usage in result.usage.items():
            price = Price.of(settings.prices, usage["name"])
            usd[role] = price.cost(usage["tokens_in"], usage["tokens_out"])
    screen.show_page(
        {**result.summary, "spent": result.usage, "out": str(result.path)},
        lambda: show_built(result.summary, result.path, result.usage, usd),
    )
    end_with(uncovered=not result.items)


def example(
    kind: Annotated[str, typer.Argument(help="Kind of builder: contexts, grounding or kalma.")],
    out: Annotated[Path, typer.Option(help="New or empty folder.")],
) -> None:
    """Copy a small example and show its build command."""
    from trueground.wings.papers.builders.registry import copy_example

    typer.echo(copy_example(kind, out).rstrip())


@takes()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a finished build.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="Human labels written by `annotate import`."),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Update the report page and data card of a build.

    Includes labels made after the build.
    """
    from trueground.wings.papers.builders.page_files import render_again

    page, card, people = render_again(folder, labels)
    lines = [
        f"{kind['kind']}  {kind['labeled']:,} of {kind['tasks']:,} tasks labeled"
        for kind in (people or {}).get("kinds", ())
    ]
    lines += [f"page   {page}", f"card   {card}"]
    entries = {"page": str(page), "card": str(card), "people": people}
    screen.show(entries, lambda: "\n".join(lines))
