"""`trueground build`: make a benchmark of a user's own documents or graph.

Every builder is a command of its own, with the common options and those that it declares. They are
made when they are asked for, so that other commands do not wait for them.
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
        """The names of the builders."""
        from trueground.wings.papers.builders.registry import all_builders

        return [*all_builders(), "example", "report"]

    def help_of(self, name: str) -> str | None:
        """What the builder makes, and of what."""
        if name in ("example", "report"):
            return (example if name == "example" else report).__doc__
        from trueground.wings.papers.builders.registry import get_builder

        return _help(get_builder(name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a builder, `example` or `report`. Raises UsageError."""
        if cmd_name in ("example", "report"):
            return self.make_command(cmd_name, example if cmd_name == "example" else report)
        from trueground.wings.papers.builders.registry import get_builder
        from trueground.wings.papers.builders.settings import BuildSettings, EndpointDefaults

        builder = get_builder(cmd_name)
        first, *others = builder.roles
        role_options = [
            DeclaredOption.of(
                _field(role.name), str | None, None, Option(f"{role.doc} {_MODEL_HELP}")
            )
            for role in others
        ]
        fields = {option.field: option.name for option in builder.options}
        roles = {"model": first.name, **{_field(role.name): role.name for role in others}}

        def run(**values: Any) -> None:
            options = {name: values[field] for field, name in fields.items()}
            models = {
                role: values[field] for field, role in roles.items() if values[field] is not None
            }
            own = {*fields, *roles}
            common = {name: value for name, value in values.items() if name not in own}
            _start(builder, models, options, **common)

        return self.make_component_command(
            cmd_name,
            run,
            order=_ORDER,
            sources=(_own_options, EndpointDefaults, BuildSettings),
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


def _own_options(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE", help="Source files or folders.")
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help=("Model that writes: name at the endpoint, hf:NAME, replay:FILE or fake:NAME.")
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
    """A signature only: what `trueground build KIND` takes beside the fields of BuildSettings."""


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
    """Build, or say what it would cost, and print what came of it."""
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
            screen.warn(f"when all shards are asked: trueground merge {out}")
            return
        else:
            result = run_build(request, write_report)
    if dry_run:
        stages = [vars(one) for one in expected.stages]
        entries = {"items": expected.items, "done": expected.done, "stages": stages}
        Screen(screen.format).show_page(entries, lambda: show_estimated(entries))
        return
    usd = {}  # of each role, where prices were given
    if settings.prices is not None:
        for role, one in result.spent.items():
            price = Price.of(settings.prices, one["name"])
            usd[role] = price.cost(one["tokens_in"], one["tokens_out"])
    screen.show_page(
        {**result.summary, "spent": result.spent, "out": str(result.path)},
        lambda: show_built(result.summary, result.path, result.spent, usd),
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
    from trueground.wings.papers.builders.page_files import draw_again

    drawn = draw_again(folder, labels)
    lines = [
        f"{kind['kind']}  {kind['labeled']:,} of {kind['tasks']:,} tasks labeled"
        for kind in (drawn.people or {}).get("kinds", ())
    ]
    told = {"page": str(drawn.page), "card": str(drawn.card), "people": drawn.people}
    screen.show(told, lambda: "\n".join([*lines, f"page   {drawn.page}\ncard   {drawn.card}"]))
