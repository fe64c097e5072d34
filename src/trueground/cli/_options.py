"""Commands out of the signatures of functions, and the options that only commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, get_args

import typer

from trueground.options import UNSET, Option

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No summary, no progress; errors and JSON still print.")
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.")]


def takes(
    function: Callable[..., Any] | None = None,
    *,
    before: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that the function declares, ready for calling it, as keywords.

    The command declares the parameters that only it has, and `**options` for the others. Its own
    keywords stand behind all others in the help, or before the option that `before` says; they may
    be declared by an `Option` too.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        theirs = [] if function is None else inspect.signature(function).parameters.values()
        names = {parameter.name for parameter in own}
        theirs = [p for p in theirs if _declaration(p) is not None and p.name not in names]
        parameters = _in_order(own, theirs, before or {})
        declared = {p.name: (p, d) for p in parameters if (d := _declaration(p)) is not None}

        @wraps(command)
        def run(**given: Any) -> None:
            command(**_ready(declared, given))

        shown = [_typer_parameter(p).replace(kind=_KEYWORD) for p in parameters]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        return run

    return with_options


def _in_order(
    own: Sequence[inspect.Parameter],
    theirs: Sequence[inspect.Parameter],
    before: Mapping[str, Sequence[str]],
) -> list[inspect.Parameter]:
    by_name = {parameter.name: parameter for parameter in own}
    early = {name for names in before.values() for name in names}
    ordered = [p for p in own if p.kind is not _KEYWORD]
    for parameter in theirs:
        ordered += [by_name[name] for name in before.get(parameter.name, ())]
        ordered.append(parameter)
    return ordered + [p for p in own if p.kind is _KEYWORD and p.name not in early]


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
