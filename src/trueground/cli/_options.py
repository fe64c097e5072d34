"""Commands out of the signatures of functions, and the options that only commands have."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from trueground.cli._output import Format, Screen
from trueground.errors import UsageError, hide_notes
from trueground.options import UNSET, Option

if TYPE_CHECKING:
    from trueground.benchmarks.options import DeclaredOption

HELP = {"help_option_names": ["-h", "--help"]}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


# The largest whole number that every JSON reader takes as it is, and that of 64 bits for seeds.
_LARGEST, _LARGEST_SEED = 2**53 - 1, 2**63 - 1


def _screen(
    *,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            callback=hide_notes,
            help="No summary, no progress; errors and JSON still print.",
        ),
    ] = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="No progress bar.")] = False,
) -> None:
    """A signature only: the options in the place of a parameter `screen: Screen`."""


def takes(
    function: Callable[..., Any] | None = None,
    *,
    before: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that the function declares, ready for calling it, as keywords.

    The command declares the parameters that only it has, and `**options` for the others. Its own
    keywords stand behind all others in the help, or before the option that `before` says; they may
    be declared by an `Option` too. A parameter `screen: Screen` is --format, --quiet and
    --no-progress.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        own = {p.name: p for p in parameters_of(command)}
        theirs = [] if function is None else declared_by(function)
        if any(p.name == "format_" for p in theirs):
            own.pop("format_", None)
        early = {name for names in (before or {}).values() for name in names}
        parameters = [p for p in own.values() if p.kind is not _KEYWORD]
        for parameter in theirs:
            if parameter.name not in own:
                parameters += [own[name] for name in (before or {}).get(parameter.name, ())]
                parameters.append(parameter)
        rest = [p for p in own.values() if p.kind is _KEYWORD and p.name not in early]
        return as_command(command, [*parameters, *rest])

    return with_options


def as_command(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """The command with these parameters for typer; it is called with what they stand for."""
    declared = {p.name: (p, d) for p in parameters if (d := _declaration(p)) is not None}

    @wraps(command)
    def run(**given: Any) -> None:
        if "quiet" in given:
            is_ours = isinstance(given.get("format_"), Format)  # else that of a file
            format_ = given.pop("format_") if is_ours else Format.TEXT
            given["screen"] = Screen(format_, given.pop("quiet"), given.pop("no_progress"))
        command(**_ready(declared, given))

    shown = [_typer_parameter(p).replace(kind=_KEYWORD) for p in parameters]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in shown}
    return run


class ListedGroup(TyperGroup):
    """A group that makes a command when it is called; its help needs but their names and texts."""

    def help_of(self, name: str) -> str | None:
        """The help text of a command."""
        raise NotImplementedError

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands, without making them."""
        names = self.list_commands(ctx)
        listed = [TyperCommand(name, help=self.help_of(name)) for name in names]
        TyperGroup(name=self.name, commands=listed).format_commands(ctx, formatter)


def order_options(
    order: str, own: Callable[..., Any], *sources: Callable[..., Any]
) -> list[inspect.Parameter]:
    """The parameters with these names, of the command's own or declared by the sources."""
    known = {p.name: p for source in sources for p in declared_by(source)}
    known |= {p.name: p for p in parameters_of(own)}
    return [known[name] for name in order.split()]


def pop_fields(values: dict[str, Any], source: type) -> dict[str, Any]:
    """Take out of the values those that the class declares as options."""
    names = [p.name for p in declared_by(source) if p.name in values]
    return {name: values.pop(name) for name in names}


def make_command(name: str, function: Callable[..., None], help_text: str | None = None) -> Any:
    """A command of a group that makes its commands itself."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=help_text, context_settings=HELP)(function)
    return typer.main.get_command(app)


def parameters_of(source: Callable[..., Any]) -> list[inspect.Parameter]:
    """The named parameters of a function, or the fields of a class; annotations are values."""
    names, found = vars(sys.modules[source.__module__]), []
    for parameter in inspect.signature(source).parameters.values():
        hint = source.__annotations__.get(parameter.name, parameter.annotation)
        if isinstance(hint, str):
            with suppress(NameError):  # the type of something heavy is no option of a command
                hint = eval(hint, names)
        if hint is Screen:
            found += parameters_of(_screen)
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            found.append(parameter.replace(annotation=hint))
    return found


def declared_by(source: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those of them that are options of a command."""
    return [p for p in parameters_of(source) if _declaration(p) is not None]


def _declaration(parameter: inspect.Parameter) -> Option | None:
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return next((one for one in metadata if isinstance(one, Option)), None)


def _typer_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as typer reads it; one without an `Option` is as typer wants it already."""
    declared = _declaration(parameter)
    if declared is None:
        return parameter
    kind = get_args(parameter.annotation)[0] if declared.type is None else declared.type
    flags = declared.flags
    if kind is bool and not flags:
        flags = (f"--{parameter.name.replace('_', '-')}",)
    option = typer.Option(
        *flags, help=declared.help, metavar=declared.metavar, min=declared.min, max=declared.max
    )
    default = _default(parameter, declared)
    return parameter.replace(default=default, annotation=Annotated[kind, option])


def _default(parameter: inspect.Parameter, declared: Option) -> Any:
    if declared.default is not UNSET:
        return declared.default
    if _turns_off(parameter, declared):
        return False
    if declared.type is not None and type(None) in get_args(declared.type):
        return None
    return parameter.default


def _turns_off(parameter: inspect.Parameter, declared: Option) -> bool:
    return parameter.default is True and declared.flags[0].startswith("--no-")


def _ready(
    declared: Mapping[str, tuple[inspect.Parameter, Option]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for a call; what the user did not name is left out, the function has a default."""
    ready = {}
    for name, value in given.items():
        if name in declared:
            parameter, option = declared[name]
            if value is None and option.default is UNSET:
                continue
            if _turns_off(parameter, option):
                value = not value
            elif option.parse and value is not None:
                value = option.parse(value)
        ready[name] = value
    return ready


def parameter_of(option: DeclaredOption) -> inspect.Parameter:
    """A benchmark's option as a parameter that typer understands."""
    flag = isinstance(option.default, bool)
    allowed = f" [{'|'.join(option.allowed)}]" if option.allowed else ""
    several = ". Repeatable: each is a run of its own" if option.varied else ""
    info = typer.Option(
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
        annotation=Annotated[kind, info],
    )


def check_numbers(given: Mapping[str, Any]) -> None:
    """UsageError for numbers that no model and no file takes: endless ones, too long ones."""
    for name, value in given.items():
        option = f"--{name.removesuffix('_seconds').replace('_', '-')}"
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{option} {value}: expected a finite number")
        most = _LARGEST_SEED if name == "seed" else _LARGEST
        if isinstance(value, int) and value > most:
            raise UsageError(f"{option} {value}: expected a whole number up to {most:,}")
