"""The one dictionary of builders.

A new builder is a folder whose `__init__` declares BUILDER, and one line in _MODULES.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from trueground.benchmarks.base import Value
from trueground.builders.base import Builder
from trueground.errors import UsageError, unknown_name

_MODULES: tuple[str, ...] = ()

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


def settled(builder: Builder, given: Mapping[str, Value]) -> dict[str, Value]:
    """All options with their values. UsageError: an unknown option, a value not allowed."""
    options = {option.name: option for option in builder.options}
    for name, value in given.items():
        if name not in options:
            raise unknown_name(f"option of build {builder.name}", name, options)
        allowed = options[name].allowed
        if allowed and value not in allowed:
            raise UsageError(f"--{name} {value}: expected one of {', '.join(allowed)}")
    return {name: given.get(name, option.default) for name, option in options.items()}
