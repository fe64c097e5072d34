"""Commands out of declared options, and the options that only commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from trueground.cli._output import Format, Screen
from trueground.errors import user_messages
from trueground.options import MAX_WHOLE, DeclaredOption, declared_options

HELP = {"help_option_names": ["-h", "--help"]}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_METAVARS = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}


def _screen(
    *,
    format_: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            callback=user_messages.hide_notes,
            help="Print only errors and JSON.",
        ),
    ] = False,
    no_progress: Annotated[
        bool, typer.Option("--no-progress", help="Hide the progress bar.")
    ] = False,
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
        own = {p.name: p for p in command_parameters(command)}
        declared = [] if function is None else option_parameters(function)
        if any(p.name == "format_" for p in declared):
            own.pop("format_", None)
        early = {name for names in (before or {}).values() for name in names}
        parameters = [p for p in own.values() if p.kind is not _KEYWORD]
        for parameter in declared:
            if parameter.name not in own:
                parameters += [own[name] for name in (before or {}).get(parameter.name, ())]
                parameters.append(parameter)
        rest = [p for p in own.values() if p.kind is _KEYWORD and p.name not in early]
        return _as_command(command, [*parameters, *rest])

    return with_options


def _as_command(
    command: Callable[..., None],
    parameters: Sequence[inspect.Parameter],
    settings: Mapping[str, type] | None = None,
) -> Callable[..., None]:
    """Return the command with these parameters for typer; it is called with their values.

    `settings` are parameters of the command that are objects: name → class. Each is made of the
    parameters that are options of its class, which the command does not get by themselves.
    """
    options = [DeclaredOption.of_parameter(parameter) for parameter in parameters]
    declared = {option.field: option for option in options if option is not None}
    kinds = settings or {}
    fields = {name: _field_names(kind) for name, kind in kinds.items()}
    fields_of_all = set[str]().union(*fields.values())

    @wraps(command)
    def run(**given: Any) -> None:
        if "quiet" in given:
            is_ours = isinstance(given.get("format_"), Format)  # else that of a file
            format_ = given.pop("format_") if is_ours else Format.TEXT
            given["screen"] = Screen(format_, given.pop("quiet"), given.pop("no_progress"))
        values = _arguments(declared, given)
        own = {name: value for name, value in values.items() if name not in fields_of_all}
        for name, kind in kinds.items():
            chosen = fields[name] & values.keys()
            own[name] = kind(**{field: values[field] for field in chosen})
        command(**own)

    shown = [_typer_parameter(p).replace(kind=_KEYWORD) for p in parameters]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in shown}
    return run


class CommandGroup(TyperGroup):
    """Base class of a group that makes a command when it is called.

    Its help needs only their names and texts.
    """

    @classmethod
    def as_app(cls, name: str, help_text: str, metavar: str) -> typer.Typer:
        """Return the group as a command of `trueground`; `metavar` is its usage line."""
        return typer.Typer(
            cls=cls,
            name=name,
            help=help_text,
            subcommand_metavar=metavar,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings=HELP,
        )

    def help_of(self, name: str) -> str | None:
        """Return the help text of a command."""
        raise NotImplementedError

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands, without making them."""
        names = self.list_commands(ctx)
        listed = [TyperCommand(name, help=self.help_of(name)) for name in names]
        TyperGroup(name=self.name, commands=listed).format_commands(ctx, formatter)

    def make_command(self, name: str, function: Callable[..., None]) -> Any:
        """Return a command that calls the function, whose parameters typer understands."""
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, help=self.help_of(name), context_settings=HELP)(function)
        return typer.main.get_command(app)

    def make_component_command(
        self,
        name: str,
        function: Callable[..., None],
        *,
        order: str,
        sources: Sequence[Callable[..., Any]],
        settings: Mapping[str, type],
        declared: Sequence[DeclaredOption],
    ) -> Any:
        """Return a command of a component that declares options besides the common ones.

        Args:
            name: The name of the command.
            function: Called with the values of all options as keywords.
            order: The names of the common options, in the order of the help.
            sources: Functions and classes that have them as parameters. The first is a signature
                with those that only the command has.
            settings: Parameters of `function` that are objects: name → class, made of those common
                options that are options of the class.
            declared: The options of the component, which follow in the help. Their values are
                texts, or lists of texts.
        """
        own, *others = sources
        parameters = _order_options(order, own, others)
        parameters += [_parameter_of(option) for option in declared]
        return self.make_command(name, _as_command(function, parameters, settings))


def _order_options(
    order: str, own: Callable[..., Any], sources: Sequence[Callable[..., Any]]
) -> list[inspect.Parameter]:
    """The parameters with these names, of the command's own or declared by the sources."""
    known = {p.name: p for source in sources for p in option_parameters(source)}
    known |= {p.name: p for p in command_parameters(own)}
    return [known[name] for name in order.split()]


def command_parameters(command: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a command, with those of the screen in the place of `screen: Screen`."""
    parameters = []
    for parameter in _read_parameters(command):
        if parameter.annotation is Screen:
            parameters += _read_parameters(_screen)
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            parameters.append(parameter)
    return parameters


def _read_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def option_parameters(source: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function or class that are options of a command."""
    return [option.parameter for option in declared_options(source)]


def _field_names(settings: type) -> set[str]:
    """The fields of a settings class that are options."""
    return {option.field for option in declared_options(settings)}


def _typer_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter as typer reads it, with a placeholder for its value."""
    declared = DeclaredOption.of_parameter(parameter)
    if declared is None:
        return _with_metavar(parameter)
    option = declared.option
    kind = get_args(parameter.annotation)[0] if option.type is None else option.type
    # Typer would print the largest integer as the end of a range. `_arguments` checks it.
    has_max = option.max is not None and option.max < MAX_WHOLE
    flags = option.flags
    if kind is bool and not flags:
        flags = (f"--{declared.name}",)
    is_closed = not option.above and not option.below  # typer knows closed ranges only
    shown = typer.Option(
        *flags,
        help=option.help,
        metavar=option.metavar or _metavar(kind),
        min=option.min if is_closed else None,
        max=option.max if is_closed and has_max else None,
    )
    default = _default(declared)
    return parameter.replace(default=default, annotation=Annotated[kind, shown])


def _with_metavar(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter that typer declares, with a placeholder for its value."""
    arguments = get_args(parameter.annotation)
    if not arguments or not isinstance(arguments[-1], OptionInfo) or arguments[-1].metavar:
        return parameter
    kind, info = arguments[0], copy(arguments[-1])
    info.metavar = _metavar(kind)
    return parameter.replace(annotation=Annotated[kind, info])


def _metavar(kind: Any) -> str | None:
    """Return the placeholder of a value in the help. None for a flag."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"[{'|'.join(str(member.value) for member in kind)}]"
    if get_origin(kind) is Literal:
        return f"[{'|'.join(map(str, get_args(kind)))}]"
    for item in get_args(kind):
        if item is not type(None):
            return _metavar(item)
    return _METAVARS.get(kind)


def _default(declared: DeclaredOption) -> Any:
    option = declared.option
    if option.has_own_default:
        return option.default
    if _turns_off(declared):
        return False
    if option.type is not None and type(None) in get_args(option.type):
        return None
    return declared.default


def _turns_off(declared: DeclaredOption) -> bool:
    return declared.default is True and declared.option.flags[0].startswith("--no-")


def _arguments(declared: Mapping[str, DeclaredOption], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for a call; what the user did not name is left out, the function has a default."""
    arguments = {}
    for name, value in given.items():
        if name in declared:
            option = declared[name].option
            if value is None and not option.has_own_default:
                continue
            if _turns_off(declared[name]):
                value = not value
            elif option.parse and value is not None:
                value = option.parse(value)
            elif isinstance(value, int | float):
                declared[name].check(value)
        arguments[name] = value
    return arguments


def _parameter_of(declared: DeclaredOption) -> inspect.Parameter:
    """A component's option as a parameter that typer understands."""
    default: Any = declared.default_text
    is_flag = isinstance(default, bool)
    varied = declared.option.varied
    repeatable = " Repeatable: makes one run per value." if varied else ""
    metavar = declared.option.metavar or _metavar(declared.type)
    if declared.choices:
        metavar = f"[{'|'.join(declared.choices)}]"
    info = typer.Option(
        f"--{declared.name}",
        metavar=None if is_flag else metavar,
        help=f"{declared.option.help}{repeatable}",
        show_default=not is_flag,
    )
    kind: Any = bool if is_flag else (str | None if default is None else str)
    if varied:
        kind = list[str] | None if default is None else list[str]
        default = None if default is None else [default]
    return inspect.Parameter(
        declared.field, _KEYWORD, default=default, annotation=Annotated[kind, info]
    )
