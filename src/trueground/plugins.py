"""Parts by name: registering them, reading what a user wrote, loading what is installed.

A part is written `NAME`, `NAME:MODEL` or `NAME:MODEL(option=value,option=value)`. MODEL and values
may stand in single or double quotes, and must where they hold parentheses or, in a value, commas.

A package names a module as an entry point of one of GROUPS; the module registers its parts when it
is imported. A part that a script registers by itself is known in that process only.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from math import isfinite
from typing import TypeVar

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
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_WRITTEN = re.compile(
    rf"\s*([A-Za-z_][\w-]*)\s*(?::\s*({_QUOTED}|[^()]*?)\s*)?(?:\((.*)\))?\s*", re.DOTALL
)
_OPTION = re.compile(rf"([^=,]*)=\s*({_QUOTED}|[^,]*?)\s*(?:,|\Z)", re.DOTALL)
_QUOTES = "\"'"
_DIGITS = 9  # of a whole number
_SHOWN = 60  # characters of a value that is refused
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


@dataclass(frozen=True)
class Given:
    """What a user wrote of a part: its name, and the model and options behind it.

    `cache` is False where nothing that was paid for or computed before may be used.
    """

    kind: str
    name: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    cache: bool = True

    def see(self, known: Iterable[str], *, model: bool = True) -> None:
        """UsageError for an option that is not known, or a model where none can be meant."""
        known = tuple(known)
        for option in self.options:
            if option not in known:
                if known:
                    raise unknown_name(f"option of the {self.kind} {self.name}", option, known)
                raise UsageError(
                    f"the {self.kind} {self.name} takes no options, and was given {option!r}; "
                    "leave the parentheses out"
                )
        if self.model is not None and not model:
            raise UsageError(f"the {self.kind} {self.name} takes no model; write {self.name}")

    def text(self, option: str, default: str, allowed: Iterable[str] = ()) -> str:
        """The option's value. UsageError where it is not one of those allowed."""
        value, allowed = self.options.get(option, default), tuple(allowed)
        if allowed and value not in allowed:
            raise self.refused(option, f"one of {', '.join(allowed)}")
        return value

    def number(
        self, option: str, default: float | None, least: float | None = None
    ) -> float | None:
        """The option as a finite number. UsageError where it is none, or below `least`."""
        if option not in self.options:
            return default
        try:
            value = float(self.options[option])
        except ValueError:
            value = float("nan")
        if not isfinite(value) or (least is not None and value < least):
            raise self.refused(option, "a number" + ("" if least is None else f", {least} or more"))
        return value

    def whole(self, option: str, default: int, least: int = 1) -> int:
        """The option as a whole number. UsageError: none, below `least`, more than nine digits."""
        if option not in self.options:
            return default
        word = self.options[option]
        known = word.isascii() and word.isdecimal() and len(word) <= _DIGITS
        if not known or int(word) < least:
            below = f"{10**_DIGITS:,}"
            raise self.refused(option, f"a whole number, {least} or more, below {below}")
        return int(word)

    def refused(self, option: str, expected: str) -> UsageError:
        """The error for a value that cannot be meant."""
        word = self.options[option]
        shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
        return UsageError(f"the {self.kind} {self.name}: {option}={shown!r}; expected {expected}")


def read_given(kind: str, text: str, *, cache: bool = True) -> Given:
    """`NAME:MODEL(option=value,…)` in its pieces. UsageError where it cannot be read."""
    match = _WRITTEN.fullmatch(text)
    model = None if match is None or match[2] is None else _bare(match[2])
    if match is None or (match[2] is not None and not model):
        # What stands in the parentheses may hold a password: it is not repeated.
        shown = text.partition("(")[0] + "(…" * ("(" in text)
        raise UsageError(
            f"cannot read the {kind} {shown!r}; write NAME, NAME:MODEL or NAME:MODEL(option=value)"
        )
    return Given(kind, match[1], model, _options(f"{kind} {match[1]}", match[3] or ""), cache)


def _options(part: str, text: str) -> dict[str, str]:
    """What stands between the parentheses. UsageError."""
    options: dict[str, str] = {}
    while text := text.lstrip(", \t\r\n"):
        match = _OPTION.match(text)
        option, value = (match[1].strip(), _bare(match[2])) if match else ("", None)
        if match is None or not option or not value:
            name, equals, _ = text.partition(",")[0].partition("=")
            found = f"{name.strip()}=…" if equals else f"option number {len(options) + 1}"
            raise UsageError(
                f"{part}: cannot read {found}; write option=value. What holds a comma or "
                "parentheses stands in quotes"
            )
        if option in options:
            raise UsageError(f"{part}: the option {option!r} is given twice")
        options[option] = value
        text = text[match.end() :]
    return options


def _bare(word: str) -> str | None:
    """The word without its quotes; None where they are not closed."""
    if word[:1] not in _QUOTES or not word:
        return word
    return (
        word[1:-1] if len(word) > 1 and word[-1] == word[0] and word.count(word[0]) == 2 else None
    )


def make(kind: str, registry: MutableMapping[str, Callable[..., T]], given: Given) -> T:
    """The part, made by its factory: with what was given, where it has a parameter `given`.

    UsageError: no part of that name, or a model or options for one that takes none.
    """
    factory = find(kind, registry, given.name)
    if "given" in inspect.signature(factory).parameters:
        return factory(given=given)
    given.see((), model=False)
    return factory()
