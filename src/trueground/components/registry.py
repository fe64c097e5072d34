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
# Holds an element for each entry point that is being loaded, so it is empty between loads.
_loading: list[bool] = []
_loaded: set[EntryPoint] = set()


def load_plugins(group: str) -> None:
    """Import every module that may register components of a group.

    A module of another package may register several kinds of components, so the modules of all
    groups are imported. Modules of trueground register only components of their own group. If a
    package can't be loaded, a warning is shown, and the others can still be used.
    """
    for plugin_group in GROUPS:
        for entry in EntryPoint.of_group(plugin_group):
            if entry.package == "trueground" and plugin_group != group:
                continue
            try:
                _load(entry)
            except PluginError as error:
                _loaded.add(entry)  # The warning is shown once.
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
        kind: The kind as error messages name it: "judge".
        components: The built-in components.
        group: Group of entry points that add components. Default: "trueground.judges" for "judge".
    """

    _by_kind: ClassVar[dict[str, Registry[Any]]] = {}

    def __init__(
        self, kind: str, components: Mapping[str, T] | None = None, *, group: str | None = None
    ) -> None:
        self.kind = kind
        # Another registry of the same kind belongs to a user or a test, so the first is kept.
        self._by_kind.setdefault(kind, self)
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

        Components with entry points come first, in the order of their entry points.
        """
        load_plugins(self.group)
        entries = EntryPoint.of_group(self.group)
        names = [entry.name for entry in entries if entry.name in self._components]
        self._components = {name: self._components[name] for name in names} | self._components
        return self

    def load_component(self, name: str) -> None:
        """Import the modules of the entry points of this name. `-` and `_` are equal.

        Raises:
            PluginError: One of them can't be loaded.
        """
        for entry in self._entries_named(name):
            _load(entry)

    def register(self, name: str, component: T) -> None:
        """Add a component. Raises UsageError if the name is taken."""
        if name in self and self[name] is not component:
            raise UsageError(f"a {self.kind} named {name!r} exists already; choose another name")
        self[name] = component
        if not _loading:
            self._local.add(name)

    def find(self, name: str) -> T:
        """Return a component by name. Raises UsageError with similar names if there is none."""
        if name not in self:
            self.load_component(name)
        if name not in self:
            self.load()
        if name not in self:
            raise UsageError.unknown_name(self.kind, name, self)
        return self[name]

    def is_shared(self, names: Iterable[str]) -> bool:
        """Return whether other processes can load all these components by name."""
        return all(self._entries_named(name) for name in self._local.intersection(names))

    @classmethod
    def shares(cls, specs: Iterable[ComponentSpec]) -> bool:
        """Return whether other processes can load the components of these specs by name.

        A kind without a registry has no components that are local to a process.
        """
        registries = [(cls._by_kind.get(spec.kind), spec.name) for spec in specs]
        return all(registry is None or registry.is_shared([name]) for registry, name in registries)

    def _entries_named(self, name: str) -> list[EntryPoint]:
        name = name.replace("_", "-")
        entries = EntryPoint.of_group(self.group)
        return [entry for entry in entries if entry.name.replace("_", "-") == name]

    def make(self: Registry[Callable[..., M]], spec: ComponentSpec) -> M:
        """Return a new component from the factory of that name.

        The factory gets the spec if it has a parameter `spec`, else it is called without
        arguments. `given`, the old name of the parameter, works too.

        Raises:
            UsageError: The name is unknown, or the component takes no model or no options.
        """
        factory = self.find(spec.name)
        parameters = inspect.signature(factory).parameters
        for name in ("spec", "given"):
            if name in parameters:
                return factory(**{name: spec})
        spec.check((), model=False)
        return factory()
