"""The one dictionary of builders, and the examples that come with the package.

A builder's module calls `add_builder`, and is an entry point of the group `trueground.builders`
with the name of the builder.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from trueground.components import Registry
from trueground.errors import OutputError, UsageError, WriteError
from trueground.wings.papers.builders.base import Builder

README = "README.txt"
_EXAMPLES = files("trueground.wings.papers.builders") / "examples"

BUILDERS: Registry[Builder] = Registry("builder")


def add_builder(builder: Builder) -> Builder:
    """Register a builder, and return it. Raises UsageError if the name is taken."""
    BUILDERS.register(builder.name, builder)
    return builder


def all_builders() -> Registry[Builder]:
    """Every builder by name, those of other packages included."""
    return BUILDERS.load()


def get_builder(name: str) -> Builder:
    """The builder of that name, or a UsageError with near names."""
    return BUILDERS.find(name)


def catalog() -> list[dict[str, Any]]:
    """Every builder for `trueground list`: name, doc, source, models, options."""
    return [
        {
            "name": builder.name,
            "doc": builder.doc,
            "takes": builder.takes,
            "roles": {role.name: role.doc for role in builder.roles},
            "options": {
                o.name: {
                    "default": o.default_text,
                    "allowed": list(o.choices),
                    "doc": o.option.help,
                }
                for o in builder.options
            },
            "source": builder.source,
        }
        for builder in all_builders().values()
    ]


def examples() -> list[str]:
    """The names of the builders that have an example."""
    return sorted(one.name for one in _EXAMPLES.iterdir() if (one / README).is_file())


def copy_example(name: str, out: Path) -> str:
    """Copy an example into a new, or empty, folder. UsageError, OutputError, WriteError."""
    if name not in examples():
        raise UsageError.unknown_name("example of a build", name, examples())
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out} exists and is not empty; choose another --out")
    try:
        _copy(_EXAMPLES / name, out)
    except OSError as error:
        raise WriteError.stopped(out, error) from error
    return (_EXAMPLES / name / README).read_text(encoding="utf-8")


def _copy(folder: Traversable, out: Path) -> None:
    """Contents alone: what a package manager made read-only is the user's to change."""
    out.mkdir(parents=True, exist_ok=True)
    for one in folder.iterdir():
        if one.is_dir():
            if one.name != "__pycache__":
                _copy(one, out / one.name)
        else:
            (out / one.name).write_bytes(one.read_bytes())
