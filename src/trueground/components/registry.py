"""Components by name: built-in ones, those of installed packages, and those of this process.

A package names a module as an entry point of one of GROUPS. The module registers its components
when it is imported. A component that a script registers itself exists in that process only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cache
from typing import Self, TypeVar

from trueground.components.specs import ComponentSpec
from trueground.errors import UsageError, unknown_name

GROUPS = (
    "trueground.metrics",
    "trueground.judges",
    "trueground.decomposers",
    "trueground.models",
    "trueground.benchmarks",
    "trueground.retrievers",
)
T = TypeVar("T")
M = TypeVar("M")
_loading: list[bool] = []


@cache
def load_plugins() -> None:
    """Import every module that an installed package names in one of the groups."""
    from importlib.metadata import entry_points  # it loads e-mail and zip: not for --help

    _loading.append(True)
    try:
        for group in GROUPS:
            for entry in entry_points(group=group):
                entry.load()
    finally:
        _loading.pop()


class Registry(MutableMapping[str, T]):
    """Components of one kind by name.

    Args:
        kind: What they are, as errors name one: "judge".
        components: Those that ship with the package.
    """

    def __init__(self, kind: str, components: Mapping[str, T] | None = None) -> None:
        self.kind = kind
        self._components: dict[str, T] = dict(components or {})
        self._local: set[str] = set()

    def __getitem__(self, name: str) -> T:
        return self._components[name]

    def __setitem__(self, name: str, component: T) -> None:
        self._components[name] = component

    def __delitem__(self, name: str) -> None:
        del self._components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def __contains__(self, name: object) -> bool:
        return name in self._components

    def load(self) -> Self:
        """Import the modules of installed packages, and return the registry."""
        load_plugins()
        return self

    def register(self, name: str, component: T) -> None:
        """Add a component. Raises UsageError if another one has the name."""
        if name in self and self[name] is not component:
            raise UsageError(f"a {self.kind} named {name!r} exists already; choose another name")
        self[name] = component
        if not _loading:
            self._local.add(name)

    def find(self, name: str) -> T:
        """Return the component of that name. Raises UsageError with similar names."""
        if name not in self:
            self.load()
        if name not in self:
            raise unknown_name(self.kind, name, self)
        return self[name]

    def is_shared(self, names: Iterable[str]) -> bool:
        """Whether another process finds these components by name, too."""
        return self._local.isdisjoint(names)

    def make(self: Registry[Callable[..., M]], given: ComponentSpec) -> M:
        """Return what the factory of that name makes.

        The factory is called with the spec if it has a parameter `given`, else without arguments.

        Raises:
            UsageError: There is no such name, or it takes no model or no options.
        """
        factory = self.find(given.name)
        if "given" in inspect.signature(factory).parameters:
            return factory(given=given)
        given.check((), model=False)
        return factory()
