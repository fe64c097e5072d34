"""Parts by name: registering them, reading what a user wrote, loading what is installed.

A part is written `NAME`, `NAME:MODEL` or `NAME:MODEL(option=value,option=value)`. MODEL and values
may stand in single or double quotes, and must where they hold parentheses or, in a value, commas; a
quotation mark within is doubled. This is the one place that reads and writes such texts.

A package names a module as an entry point of one of GROUPS. The module registers its components
when it is imported. An entry point with the name of a component is loaded by itself when that
component is requested. All are loaded for lists, and if a name isn't found. A component that a
script registers by itself is known in that process only.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

from trueground.entry_points import EntryPoint, entry_points
from trueground.errors import PluginError, UsageError, tell, unknown_name
from trueground.options import DeclaredOption, Option, ValueRejectedError, declare, parse_value

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
_QUOTES = "\"'"
_QUOTED = r"\"(?:[^\"]|\"\")*+\"|'(?:[^']|'')*+'"
_IN_QUOTES = re.compile(_QUOTED)
_TOKEN = re.compile(rf"(?<![^\s:=(,+])(?:{_QUOTED})|.", re.DOTALL)
_NEEDS_QUOTES = re.compile(r"[\s,()\"'+]")
# Over the text as `mask_quoted` gives it.
_PART = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?::\s*([^()]*?)\s*)?(?:\(([^()]*)\))?\s*", re.DOTALL)
_SHOWN = 60  # characters of a value that is refused
_only_here: set[tuple[str, str]] = set()
_loading: list[bool] = []
_loaded: set[EntryPoint] = set()


def load_plugins(kind: str) -> None:
    """Import every module that may register components of a kind.

    A module of another package may register several kinds, so it is imported for each of them. The
    modules of trueground keep to the kind of their group. A package that can't be loaded gets a
    warning, so that the others can still be used.
    """
    for group in GROUPS:
        for entry in entry_points(group):
            if entry.package == "trueground" and group != f"trueground.{kind}s":
                continue
            try:
                _load(entry)
            except PluginError as error:
                _loaded.add(entry)  # one warning is enough
                tell(str(error))


def load_component(kind: str, name: str) -> None:
    """Import the modules that are entry points of this name, where `-` and `_` are alike.

    Raises PluginError if one can't be loaded.
    """
    for entry in _entries_named(kind, name):
        _load(entry)


def _load(entry: EntryPoint) -> None:
    if entry not in _loaded:
        _loading.append(True)
        try:
            entry.load()
        finally:
            _loading.pop()
        _loaded.add(entry)


def _entries_named(kind: str, name: str) -> list[EntryPoint]:
    name = name.replace("_", "-")
    entries = entry_points(f"trueground.{kind}s")
    return [entry for entry in entries if entry.name.replace("_", "-") == name]


def register_part(kind: str, registry: MutableMapping[str, T], name: str, part: T) -> None:
    """Put a part into its registry. Raises UsageError if another one has the name."""
    if registry.setdefault(name, part) is not part:
        raise UsageError(f"a {kind} named {name!r} exists already; choose another name")
    if not _loading:
        _only_here.add((kind, name))


def find_part(kind: str, registry: MutableMapping[str, T], name: str) -> T:
    """The part of that name; UsageError with near names where there is none."""
    if name not in registry:
        load_component(kind, name)
    if name not in registry:
        load_plugins(kind)
    if name not in registry:
        raise unknown_name(kind, name, registry)
    return registry[name]


def all_parts(kind: str, registry: Mapping[str, T]) -> dict[str, T]:
    """All components of a kind: in the order of the entry points, then others as registered."""
    load_plugins(kind)
    names = [entry.name for entry in entry_points(f"trueground.{kind}s")]
    return {name: registry[name] for name in names if name in registry} | dict(registry)


def known_everywhere(kind: str, names: Iterable[str]) -> bool:
    """Whether another process finds these parts by name too."""
    return all((kind, name) not in _only_here or _entries_named(kind, name) for name in names)


@dataclass(frozen=True)
class PartSpec:
    """What a user wrote of a part: its name, and the model and options behind it.

    `cache` is False where nothing that was paid for or computed before may be used.
    """

    kind: str
    name: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    cache: bool = True

    @property
    def written(self) -> str:
        """The part as it can be read again."""
        return format_part(self.name, self.model, self.options)

    def check(self, known: Iterable[str], *, model: bool = True) -> None:
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
        if not model:
            self.check_no_model()

    def check_no_model(self) -> None:
        """UsageError for a model where none can be meant."""
        if self.model is not None:
            raise UsageError(f"the {self.kind} {self.name} takes no model; write {self.name}")

    def text(self, option: str, default: str, allowed: Iterable[str] = ()) -> str:
        """Return the text of the option. UsageError if it is not one of those allowed."""
        kind = Literal[tuple(allowed)] if allowed else str
        value: str = self._value(declare(option, kind, default, Option(None)))
        return value

    def number(
        self,
        option: str,
        default: float | None,
        least: float | None = None,
        most: float | None = None,
        *,
        below: bool = False,
    ) -> float | None:
        """Return the option as a finite number. UsageError if it is none, or out of range."""
        kind = Option(None, min=least, max=most, below=below)
        value: float | None = self._value(declare(option, float, default, kind))
        return value

    def whole(self, option: str, default: int, least: int = 1) -> int:
        """Return the option as a whole number. UsageError if it is none, or below `least`."""
        value: int = self._value(declare(option, int, default, Option(None, min=least)))
        return value

    def _value(self, declared: DeclaredOption) -> Any:
        if declared.field not in self.options:
            return declared.default
        try:
            return parse_value(declared, self.options[declared.field])
        except ValueRejectedError as error:
            raise self.refused(declared.field, str(error)) from None

    def refused(self, option: str, expected: str) -> UsageError:
        """The error for a value that cannot be meant."""
        word = self.options[option]
        shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
        return UsageError(f"the {self.kind} {self.name}: {option}={shown!r}; expected {expected}")


def parse_part(kind: str, text: str, *, cache: bool = True) -> PartSpec:
    """`NAME:MODEL(option=value,…)` in its pieces. UsageError where it cannot be read."""
    seen = mask_quoted(text)
    if kind == "judge" and (file := _read_file(text, seen)):
        text, seen = file, mask_quoted(file)
    match = _PART.fullmatch(seen)
    model = None
    if match is not None and match.start(2) >= 0:
        model = _unquote(text[slice(*match.span(2))])
    if match is None or (match.start(2) >= 0 and not model):
        # What stands in the parentheses may hold a password: it is not repeated.
        shown = text.partition("(")[0] + "(…" * ("(" in text)
        raise UsageError(
            f"cannot read the {kind} {shown!r}; write NAME, NAME:MODEL or NAME:MODEL(option=value)"
        )
    inside = text[slice(*match.span(3))] if match[3] else ""
    return PartSpec(kind, match[1], model, _parse_options(f"{kind} {match[1]}", inside), cache)


def _read_file(text: str, seen: str) -> str | None:
    """`stack:FILE.json(…)` where a judge is written as FILE.json(…), without a name; else None."""
    opened = seen.find("(") if "(" in seen else len(text)
    file = _unquote(text[:opened].strip())
    if not file or not file.endswith(".json") or re.match(r"[A-Za-z_][\w.-]*\s*:", file):
        return None
    return f"stack:{quote(file)}{text[opened:]}"


def parse_model_part(role: str, text: str) -> tuple[str, PartSpec]:
    """`MODEL(option=value,…)`: a model's name, which may hold colons, and the options of its role.

    A name that itself ends in parentheses stands in quotes. UsageError where it cannot be read.
    """
    seen = mask_quoted(text := text.strip())
    opened = seen.rfind("(") if seen.endswith(")") else -1
    name = _unquote((text if opened < 0 else text[:opened]).strip())
    if not name:
        raise UsageError(f"the model of the {role} has no name; write NAME or NAME(option=value)")
    return name, parse_part("model", role + text[opened:] if opened >= 0 else role)


def format_part(
    name: str, model: str | None = None, options: Mapping[str, str] | None = None
) -> str:
    """`NAME:MODEL(option=value,…)`, as `parse_part` reads it; quotes where they are needed."""
    inside = ",".join(f"{option}={quote(value)}" for option, value in (options or {}).items())
    behind = "" if model is None else f":{quote(model)}"
    return f"{name}{behind}" + (f"({inside})" if inside else "")


def quote(word: str) -> str:
    """The word as it stands for a model or a value; a quotation mark within is doubled."""
    if word and not _NEEDS_QUOTES.search(word):
        return word
    mark = "'" if '"' in word else '"'
    return mark + word.replace(mark, mark * 2) + mark


def mask_quoted(text: str) -> str:
    """The text, as long as before, without what stands within quotes or parentheses.

    So a mark that is found in it separates. Quotes open where a word begins.
    """
    pieces, depth = [], 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        depth = max(0, depth - (word == ")"))
        shown = word if len(word) == 1 else word[0] + "\0" * (len(word) - 2) + word[-1]
        pieces.append("\0" * len(word) if depth else shown)
        depth += word == "("
    return "".join(pieces)


def split_outside(text: str, mark: str = ",") -> list[str]:
    """The pieces between marks that stand outside quotes and parentheses, stripped."""
    cuts = [-1, *(m.start() for m in re.finditer(re.escape(mark), mask_quoted(text))), len(text)]
    return [text[a + 1 : b].strip() for a, b in pairwise(cuts)]


class ResultKey(NamedTuple):
    """A key of results, `name(option=value)@judge`: name, what comes before the judge, judge."""

    name: str
    spec: str
    judge: str

    @property
    def options(self) -> str:
        """What stands between the parentheses; "" without them."""
        return self.spec.partition("(")[2].rstrip().removesuffix(")")


def split_key(key: str) -> ResultKey:
    """The pieces of a key; an @ within parentheses belongs to an option."""
    at = mask_quoted(key).find("@")
    spec, judge = (key, "") if at < 0 else (key[:at], key[at + 1 :])
    return ResultKey(spec.partition("(")[0].strip(), spec, judge)


def bare_name(key: str) -> str:
    """A key's name, without options and judge."""
    return split_key(key).name


def keys_named(name: str, keys: Iterable[str]) -> list[str]:
    """That key alone where it is one of the keys; else all with this bare name, in their order."""
    keys = list(keys)
    return [name] if name in keys else [key for key in keys if bare_name(key) == name]


def _parse_options(part: str, text: str) -> dict[str, str]:
    """What stands between the parentheses. UsageError."""
    options: dict[str, str] = {}
    for number, piece in enumerate(filter(None, split_outside(text)), 1):
        option, equals, word = piece.partition("=")
        option, value = option.strip(), _unquote(word.strip())
        if not option or not value:
            found = f"{option}=…" if equals else f"option number {number}"
            raise UsageError(
                f"{part}: cannot read {found}; write option=value. What holds a comma or "
                "parentheses stands in quotes"
            )
        if option in options:
            raise UsageError(f"{part}: the option {option!r} is given twice")
        options[option] = value
    return options


def _unquote(word: str) -> str | None:
    """The word without its quotes; None where they are not closed."""
    if word[:1] not in _QUOTES or not word:
        return word
    return word[1:-1].replace(word[0] * 2, word[0]) if _IN_QUOTES.fullmatch(word) else None


def make_part(kind: str, registry: MutableMapping[str, Callable[..., T]], given: PartSpec) -> T:
    """The part that its factory builds: with the PartSpec, where it has a parameter `given`.

    UsageError: no part of that name, or a model or options for one that takes none.
    """
    factory = find_part(kind, registry, given.name)
    if "given" in inspect.signature(factory).parameters:
        return factory(given=given)
    given.check((), model=False)
    return factory()
