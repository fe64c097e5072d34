"""Components by name: built-in ones, those of installed packages, and those of this process.

A package names a module as an entry point of one of GROUPS. The module registers its components
when it is imported. An entry point with the name of a component is loaded alone when that component
is requested. All are loaded for lists, and if a name isn't found. A component that a script
registers itself exists in that process only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, Self, TypeVar

from trueground.components.plugins import EntryPoint
from trueground.components.specs import ComponentSpec
from trueground.errors import PluginError, UsageError, user_messages

GROUPS = (
    "trueground.metrics",
    "trueground.judges",
    "trueground.decomposers",
    "trueground.models",
    "trueground.benchmarks",
    "trueground.retrievers",
    "trueground.builders",
    "trueground.labels",
    "trueground.rankers",
)
T = TypeVar("T")
M = TypeVar("M")
_loading: list[bool] = []


_loaded: set[EntryPoint] = set()


def load_plugins(wanted: str) -> None:
    """Import every module that may register components of a group.

    A module of another package may register several kinds, so it is imported for each of them. The
    modules of trueground keep to the kind of their group. A package that can't be loaded gets a
    warning, so that the others can still be used.
    """
    for group in GROUPS:
        for entry in EntryPoint.of_group(group):
            if entry.package == "trueground" and group != wanted:
                continue
            try:
                _load(entry)
            except PluginError as error:
                _loaded.add(entry)  # one warning is enough
                user_messages.show(str(error))


def _load(entry: EntryPoint) -> None:
    if entry not in _loaded:
        _loading.append(True)
        try:
            entry.load()
        finally:
            _loading.pop()
        _loaded.add(entry)


class Registry(MutableMapping[str, T]):
    """Components of one kind by name.

    Args:
        kind: What they are, as errors name one: "judge".
        components: Those that ship with the package.
        group: Group of the entry points that add some. Default: "trueground.judges" for "judge".
    """

    _by_kind: ClassVar[dict[str, Registry[Any]]] = {}

    def __init__(
        self, kind: str, components: Mapping[str, T] | None = None, *, group: str | None = None
    ) -> None:
        self.kind = kind
        self._by_kind.setdefault(kind, self)  # another one of the kind is a user's or a test's
        self.group = group or f"trueground.{kind}s"
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
        """Import the modules that add components, and return the registry.

        Components with entry points come first, in the order of these.
        """
        load_plugins(self.group)
        names = [e.name for e in EntryPoint.of_group(self.group) if e.name in self._components]
        self._components = {name: self._components[name] for name in names} | self._components
        return self

    def load_component(self, name: str) -> None:
        """Import the modules that are entry points of this name, where `-` and `_` are alike.

        Raises:
            PluginError: One of them can't be loaded.
        """
        for entry in self._entries_named(name):
            _load(entry)

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
            self.load_component(name)
        if name not in self:
            self.load()
        if name not in self:
            raise UsageError.unknown_name(self.kind, name, self)
        return self[name]

    def is_shared(self, names: Iterable[str]) -> bool:
        """Whether another process finds these components by name, too."""
        return all(self._entries_named(name) for name in self._local.intersection(names))

    @classmethod
    def shares(cls, specs: Iterable[ComponentSpec]) -> bool:
        """Whether another process finds the components of these specs by name, too.

        A kind without a registry has no components that only this process knows.
        """
        registries = [(cls._by_kind.get(spec.kind), spec.name) for spec in specs]
        return all(registry is None or registry.is_shared([name]) for registry, name in registries)

    def _entries_named(self, name: str) -> list[EntryPoint]:
        name = name.replace("_", "-")
        entries = EntryPoint.of_group(self.group)
        return [entry for entry in entries if entry.name.replace("_", "-") == name]

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
