"""Parts from other packages, by name: registering, and loading what is installed.

A package names a module as an entry point of one of GROUPS; the module registers its parts when it
is imported. A part that a script registers by itself is known in that process only.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from trueground.errors import UsageError, unknown_name

GROUPS = (
    "trueground.metrics",
    "trueground.judges",
    "trueground.decomposers",
    "trueground.models",
    "trueground.benchmarks",
)
T = TypeVar("T")
_only_here: set[tuple[str, str]] = set()
_loading: list[bool] = []


@cache
def load_plugins() -> None:
    """Import every module that an installed package names in one of the groups."""
    _loading.append(True)
    try:
        for group in GROUPS:
            for entry in entry_points(group=group):
                entry.load()
    finally:
        _loading.pop()


def add(kind: str, registry: MutableMapping[str, T], name: str, part: T) -> None:
    """Put a part into its registry. Raises UsageError if another one has the name."""
    if registry.setdefault(name, part) is not part:
        raise UsageError(f"a {kind} named {name!r} exists already; choose another name")
    if not _loading:
        _only_here.add((kind, name))


def find(kind: str, registry: MutableMapping[str, T], name: str) -> T:
    """The part of that name; UsageError with near names where there is none."""
    if name not in registry:
        load_plugins()
    if name not in registry:
        raise unknown_name(kind, name, registry)
    return registry[name]


def known_everywhere(kind: str, names: Iterable[str]) -> bool:
    """Whether another process finds these parts by name too."""
    return not any((kind, name) in _only_here for name in names)
