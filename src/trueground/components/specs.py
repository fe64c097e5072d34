"""Specs of components, and keys of results, as users write them.

A component is written `NAME`, `NAME:MODEL` or `NAME:MODEL(option=value,option=value)`. MODEL and
values may be in single or double quotes. They must be quoted if they contain parentheses or, in a
value, commas; double a quotation mark inside. Only this module reads and writes such texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

from trueground.errors import UsageError
from trueground.options import DeclaredOption, Option

_QUOTES = "\"'"
_QUOTED = r"\"(?:[^\"]|\"\")*+\"|'(?:[^']|'')*+'"
_IN_QUOTES = re.compile(_QUOTED)
_TOKEN = re.compile(rf"(?<![^\s:=(,+])(?:{_QUOTED})|.", re.DOTALL)
_NEEDS_QUOTES = re.compile(r"[\s,()\"'+]")
# Matched with what `ComponentSpec.mask_quoted` returns.
_COMPONENT = re.compile(
    r"\s*([A-Za-z_][\w.-]*)\s*(?::\s*([^()]*?)\s*)?(?:\(([^()]*)\))?\s*", re.DOTALL
)
_SHOWN = 60  # characters of a value that is refused


@dataclass(frozen=True)
class ComponentSpec:
    """What a user wrote of a component.

    Attributes:
        kind: What the component is, as errors name it: "judge".
        name: The name under which it is registered.
        model: The model after the colon. None: there is none.
        options: The options in parentheses.
        cache: False if nothing that was computed or paid for before may be used.
    """

    kind: str
    name: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    cache: bool = True

    @classmethod
    def parse(cls, kind: str, text: str, *, cache: bool = True) -> Self:
        """Parse `NAME:MODEL(option=value,…)`. Raises UsageError if it can't be read."""
        masked = cls.mask_quoted(text)
        if kind == "judge" and (file := _read_file(text, masked)):
            text, masked = file, cls.mask_quoted(file)
        match = _COMPONENT.fullmatch(masked)
        model = None
        if match is not None and match.start(2) >= 0:
            model = _unquote(text[slice(*match.span(2))])
        if match is None or (match.start(2) >= 0 and not model):
            # The parentheses may hold a password: they are not repeated.
            name, opened, _ = text.partition("(")
            shown = f"{name}(…" if opened else name
            raise UsageError(
                f"cannot read the {kind} {shown!r}; write NAME, NAME:MODEL or "
                "NAME:MODEL(option=value)"
            )
        inside = text[slice(*match.span(3))] if match[3] else ""
        return cls(kind, match[1], model, _parse_options(f"{kind} {match[1]}", inside), cache)

    @classmethod
    def parse_model(cls, role: str, text: str) -> tuple[str, Self]:
        """Parse `MODEL(option=value,…)`: a model's name, and the options of its role.

        The name may have colons. One that ends in parentheses must be quoted. Raises UsageError if
        the text can't be read.
        """
        masked = cls.mask_quoted(text := text.strip())
        opened = masked.rfind("(") if masked.endswith(")") else -1
        name = _unquote((text if opened < 0 else text[:opened]).strip())
        if not name:
            raise UsageError(
                f"the model of the {role} has no name; write NAME or NAME(option=value)"
            )
        return name, cls.parse("model", role + text[opened:] if opened >= 0 else role)

    @staticmethod
    def split(text: str) -> list[str]:
        """Split a list at its commas outside quotes and parentheses. Pieces are stripped."""
        commas = re.finditer(",", ComponentSpec.mask_quoted(text))
        cuts = [-1, *(match.start() for match in commas), len(text)]
        return [text[a + 1 : b].strip() for a, b in pairwise(cuts)]

    @staticmethod
    def mask_quoted(text: str) -> str:
        """Return the text, as long as before, without what is in quotes or parentheses.

        So a mark that is found in it separates. Quotes open at the beginning of a word.
        """
        pieces, depth = [], 0
        for token in _TOKEN.finditer(text):
            word = token[0]
            depth = max(0, depth - (word == ")"))
            shown = word if len(word) == 1 else word[0] + "\0" * (len(word) - 2) + word[-1]
            pieces.append("\0" * len(word) if depth else shown)
            depth += word == "("
        return "".join(pieces)

    @property
    def written(self) -> str:
        """The component as `parse` reads it, with quotes where they are needed."""
        model = "" if self.model is None else f":{quote(self.model)}"
        inside = ",".join(f"{option}={quote(value)}" for option, value in self.options.items())
        return f"{self.name}{model}({inside})" if inside else f"{self.name}{model}"

    def check(self, known: Iterable[str], *, model: bool = True) -> None:
        """UsageError for an option that is not known, or a model where none can be meant."""
        known = tuple(known)
        for option in self.options:
            if option not in known:
                if known:
                    raise UsageError.unknown_name(
                        f"option of the {self.kind} {self.name}", option, known
                    )
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
        value: str = self._value(DeclaredOption.of(option, kind, default, Option(None)))
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
        value: float | None = self._value(DeclaredOption.of(option, float, default, kind))
        return value

    def whole(self, option: str, default: int, least: int = 1) -> int:
        """Return the option as a whole number. UsageError if it is none, or below `least`."""
        value: int = self._value(DeclaredOption.of(option, int, default, Option(None, min=least)))
        return value

    def _value(self, declared: DeclaredOption) -> Any:
        if declared.field not in self.options:
            return declared.default
        try:
            return declared.parse(self.options[declared.field])
        except ValueError as error:
            raise self.refused(declared.field, str(error)) from None

    def refused(self, option: str, expected: str) -> UsageError:
        """The error for a value that cannot be meant."""
        word = self.options[option]
        shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
        return UsageError(f"the {self.kind} {self.name}: {option}={shown!r}; expected {expected}")


def _read_file(text: str, seen: str) -> str | None:
    """`stack:FILE.json(…)` where a judge is written as FILE.json(…), without a name; else None."""
    opened = seen.find("(") if "(" in seen else len(text)
    file = _unquote(text[:opened].strip())
    if not file or not file.endswith(".json") or re.match(r"[A-Za-z_][\w.-]*\s*:", file):
        return None
    return f"stack:{quote(file)}{text[opened:]}"


def quote(word: str) -> str:
    """The word as it stands for a model or a value; a quotation mark within is doubled."""
    if word and not _NEEDS_QUOTES.search(word):
        return word
    mark = "'" if '"' in word else '"'
    return mark + word.replace(mark, mark * 2) + mark


class ResultKey(NamedTuple):
    """A key of results, `name(option=value)@judge`: name, what comes before the judge, judge."""

    name: str
    spec: str
    judge: str

    @classmethod
    def parse(cls, key: str) -> Self:
        """Return the pieces of a key. An @ within parentheses belongs to an option."""
        at = ComponentSpec.mask_quoted(key).find("@")
        spec, judge = (key, "") if at < 0 else (key[:at], key[at + 1 :])
        return cls(spec.partition("(")[0].strip(), spec, judge)

    @classmethod
    def find(cls, name: str, keys: Iterable[str]) -> list[str]:
        """Return the key that is `name`; without it, all keys with this bare name, in order."""
        keys = list(keys)
        return [name] if name in keys else [key for key in keys if cls.parse(key).name == name]

    @property
    def options(self) -> str:
        """What stands between the parentheses; "" without them."""
        return self.spec.partition("(")[2].rstrip().removesuffix(")")


def _parse_options(part: str, text: str) -> dict[str, str]:
    """What stands between the parentheses. UsageError."""
    options: dict[str, str] = {}
    for number, piece in enumerate(filter(None, ComponentSpec.split(text)), 1):
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
