"""The one dictionary of builders.

A new builder is a folder whose `__init__` declares BUILDER, and one line in _MODULES.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from trueground.benchmarks.base import Value
from trueground.builders.base import Builder
from trueground.errors import UsageError, unknown_name

_MODULES: tuple[str, ...] = ("contexts", "grounding", "kalma")

BUILDERS: dict[str, Builder] = {
    found.name: found
    for module in _MODULES
    if (found := import_module(f"trueground.builders.{module}").BUILDER)
}


def get_builder(name: str) -> Builder:
    """The builder of that name, or a UsageError with near names."""
    if name not in BUILDERS:
        raise unknown_name("builder", name, BUILDERS)
    return BUILDERS[name]


def catalogue() -> list[dict[str, Any]]:
    """Every builder for `trueground list`: name, doc, source, models, options."""
    return [
        {
            "name": builder.name,
            "doc": builder.doc,
            "takes": builder.takes,
            "roles": {role.name: role.doc for role in builder.roles},
            "options": {
                o.name: {"default": o.default, "allowed": list(o.allowed), "doc": o.doc}
                for o in builder.options
            },
            "source": builder.source,
        }
        for builder in BUILDERS.values()
    ]


def settled(builder: Builder, given: Mapping[str, Any]) -> dict[str, Value]:
    """All options with their values; numbers as text, as the command line gives them.

    UsageError: an unknown option, a value not allowed.
    """
    options = {option.name: option for option in builder.options}
    found = {name: option.default for name, option in options.items()}
    for name, value in given.items():
        if name not in options:
            raise unknown_name(f"option of build {builder.name}", name, options)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        found[name] = str(value) if number else value
        allowed = options[name].allowed
        if allowed and found[name] not in allowed:
            raise UsageError(f"--{name} {value}: expected one of {', '.join(allowed)}")
        if isinstance(options[name].default, bool) != isinstance(found[name], bool):
            expected = "true or false" if isinstance(options[name].default, bool) else "text"
            raise UsageError(f"--{name} {value!r}: expected {expected}")
    return found
