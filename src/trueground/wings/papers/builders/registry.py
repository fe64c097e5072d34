"""The registry of builders, and the examples that come with the package.

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
    """Return all builders by name, including those of other packages."""
    return BUILDERS.load()


def get_builder(name: str) -> Builder:
    """Return the builder of that name. Raises UsageError with similar names."""
    return BUILDERS.find(name)


def catalog() -> list[dict[str, Any]]:
    """Return every builder for `trueground list`: name, doc, source, models, options."""
    return [_describe_builder(builder) for builder in all_builders().values()]


def _describe_builder(builder: Builder) -> dict[str, Any]:
    return {
        "name": builder.name,
        "doc": builder.doc,
        "takes": builder.takes,
        "roles": {role.name: role.doc for role in builder.roles},
        "options": {option.name: option.as_dict() for option in builder.options},
        "source": builder.source,
    }


def examples() -> list[str]:
    """Return the names of the builders that have an example."""
    return sorted(folder.name for folder in _EXAMPLES.iterdir() if (folder / README).is_file())


def copy_example(name: str, out: Path) -> str:
    """Copy an example into a new or empty folder, and return its README text.

    Raises:
        UsageError: There is no such example.
        OutputError: The folder is not empty.
        WriteError: Copying failed.
    """
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
    """Copy contents without permissions, so that users can edit files installed as read-only."""
    out.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                _copy(entry, out / entry.name)
        else:
            (out / entry.name).write_bytes(entry.read_bytes())
