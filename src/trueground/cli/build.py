"""`trueground build`: make a benchmark of a user's own documents or graph.

Every builder is a command of its own, with the common options and those that it declares. They are
made when they are asked for, so that other commands do not wait for them.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from trueground.cli.build_options import common
from trueground.cli.build_report import report
from trueground.cli.run import parameter_of

if TYPE_CHECKING:
    from trueground.builders.base import Builder

_HELP = {"help_option_names": ["-h", "--help"]}
_EXAMPLE, _REPORT = "example", "report"


class BuilderGroup(TyperGroup):
    """`build` with a command for every builder."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the builders."""
        from trueground.builders.registry import BUILDERS

        return [*BUILDERS, _EXAMPLE, _REPORT]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a builder, `example` or `report`. Raises UsageError."""
        if cmd_name == _EXAMPLE:
            return _own_command(_EXAMPLE, example)
        if cmd_name == _REPORT:
            return _own_command(_REPORT, report)
        from trueground.builders.registry import get_builder

        return _command(get_builder(cmd_name))


group = typer.Typer(
    cls=BuilderGroup,
    name="build",
    help="Make a benchmark of your own documents or graph. Goes on where it stopped.",
    subcommand_metavar="KIND SOURCE… --model NAME --out DIR [OPTIONS]",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=_HELP,
)


def _command(builder: Builder) -> Any:
    own = [option.name.replace("-", "_") for option in builder.options]
    others = builder.roles[1:]

    def run(**given: Any) -> None:
        from trueground.cli.build_action import start

        options = {key.replace("_", "-"): given.pop(key) for key in own}
        models = {builder.roles[0].name: given.pop("model")}
        models |= {role.name: given.pop(_field(role.name)) for role in others}
        start(builder, {k: v for k, v in models.items() if v is not None}, options, **given)

    parameters = [*inspect.signature(common, eval_str=True).parameters.values()]
    parameters += [_role(role.name, role.doc) for role in others]
    parameters += [parameter_of(option) for option in builder.options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(builder.name, help=_help(builder), context_settings=_HELP)(run)
    return typer.main.get_command(app)


def _own_command(name: str, function: Any) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, context_settings=_HELP)(function)
    return typer.main.get_command(app)


def example(
    kind: Annotated[str, typer.Argument(help="The builder: contexts, grounding, kalma.")],
    out: Annotated[Path, typer.Option(help="A folder that is new or empty.")],
) -> None:
    """Copy a builder's small example into a folder, and show the command that builds it."""
    from trueground.builders.examples import copy_example

    typer.echo(copy_example(kind, out).rstrip())


def _help(builder: Builder) -> str:
    prompts = f" Prompts: {', '.join(builder.prompts)}." if builder.prompts else ""
    return f"{builder.doc} ({builder.source}). SOURCE: {builder.takes}.{prompts}"


def _field(role: str) -> str:
    return f"{role.replace('-', '_')}_model"


def _role(name: str, doc: str) -> inspect.Parameter:
    said = typer.Option(f"--{name}-model", help=f"{doc} NAME, or NAME(base_url=URL).")
    return inspect.Parameter(
        _field(name),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, said],
    )
