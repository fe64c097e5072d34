"""Specs of components, and keys of results, as users write them.

A component is written `NAME`, `NAME:MODEL` or `NAME:MODEL(option=value,option=value)`. MODEL and
values may be in single or double quotes. They must be quoted if they contain parentheses or, in a
value, commas. Double a quotation mark inside. Only this module parses and formats such texts.
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
MAX_SHOWN_CHARS = 60  # of an invalid value in a message


@dataclass(frozen=True)
class ComponentSpec:
    """A component as the user specified it.

    Attributes:
        kind: The kind of component as error messages name it: "judge".
        name: The name under which it is registered.
        model: The model after the colon. None if there is none.
        options: The options in parentheses.
        cache: False if cached results must not be used.
    """

    kind: str
    name: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    cache: bool = True

    @classmethod
    def parse(cls, kind: str, text: str, *, cache: bool = True) -> Self:
        """Parse `NAME:MODEL(option=value,…)`. Raises UsageError if it isn't valid."""
        masked = cls.mask_quoted(text)
        stack_text = _read_stack_file(text, masked) if kind == "judge" else None
        if stack_text is not None:
            text, masked = stack_text, cls.mask_quoted(stack_text)
        match = _COMPONENT.fullmatch(masked)
        model = None
        if match is not None and match.start(2) >= 0:
            model = _unquote(text[slice(*match.span(2))])
        if match is None or (match.start(2) >= 0 and not model):
            # The parentheses may contain a password, so the message leaves them out.
            name, opened, _ = text.partition("(")
            without_options = f"{name}(…" if opened else name
            raise UsageError(
                f"cannot read the {kind} {without_options!r}; write NAME, NAME:MODEL or "
                "NAME:MODEL(option=value)"
            )
        inside = text[slice(*match.span(3))] if match[3] else ""
        return cls(kind, match[1], model, _parse_options(f"{kind} {match[1]}", inside), cache)

    @classmethod
    def parse_model(cls, role: str, text: str) -> tuple[str, Self]:
        """Parse `MODEL(option=value,…)` into a model name and the options of its role.

        The name may contain colons. If it ends in parentheses, it must be quoted. Raises
        UsageError if the text isn't valid.
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
        """Return the text with everything in quotes or parentheses replaced by NUL characters.

        The length stays the same. A separator that remains isn't quoted. Quotes open at the
        beginning of a word.
        """
        pieces: list[str] = []
        depth = 0
        for token in _TOKEN.finditer(text):
            piece = token[0]
            if piece == ")":
                depth = max(0, depth - 1)
            if depth:
                pieces.append("\0" * len(piece))
            elif len(piece) == 1:
                pieces.append(piece)
            else:
                pieces.append(piece[0] + "\0" * (len(piece) - 2) + piece[-1])
            if piece == "(":
                depth += 1
        return "".join(pieces)

    @property
    def written(self) -> str:
        """The component as a text that `parse` reads, with quotes where needed."""
        model = "" if self.model is None else f":{quote(self.model)}"
        inside = ",".join(f"{option}={quote(value)}" for option, value in self.options.items())
        return f"{self.name}{model}({inside})" if inside else f"{self.name}{model}"

    def check(self, allowed: Iterable[str], *, model: bool = True) -> None:
        """Raise UsageError for an unknown option, or for a model if `model` is False."""
        allowed = tuple(allowed)
        for option in self.options:
            if option not in allowed:
                if allowed:
                    raise UsageError.unknown_name(
                        f"option of the {self.kind} {self.name}", option, allowed
                    )
                raise UsageError(
                    f"the {self.kind} {self.name} takes no options, but has {option!r}; "
                    "remove the parentheses"
                )
        if not model:
            self.check_no_model()

    def check_no_model(self) -> None:
        """Raise UsageError if the spec names a model."""
        if self.model is not None:
            raise UsageError(f"the {self.kind} {self.name} takes no model; write {self.name}")

    def text(self, option: str, default: str, allowed: Iterable[str] = ()) -> str:
        """Return the value of an option. Raises UsageError if it isn't one of `allowed`."""
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
        """Return an option as a finite number. Raises UsageError if it is invalid."""
        kind = Option(None, min=least, max=most, below=below)
        value: float | None = self._value(DeclaredOption.of(option, float, default, kind))
        return value

    def whole(self, option: str, default: int, least: int = 1) -> int:
        """Return an option as a whole number. Raises UsageError if it is invalid."""
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
        """Return the error for an invalid value of an option."""
        value = self.options[option]
        if len(value) > MAX_SHOWN_CHARS:
            value = f"{value[:MAX_SHOWN_CHARS]}…"
        return UsageError(f"the {self.kind} {self.name}: {option}={value!r}; expected {expected}")


def _read_stack_file(text: str, masked: str) -> str | None:
    """Return `stack:FILE.json(…)` for a judge written as FILE.json(…), else None."""
    opened = masked.find("(") if "(" in masked else len(text)
    file = _unquote(text[:opened].strip())
    if not file or not file.endswith(".json") or re.match(r"[A-Za-z_][\w.-]*\s*:", file):
        return None
    return f"stack:{quote(file)}{text[opened:]}"


def quote(word: str) -> str:
    """Return a model or a value in quotes if it needs them."""
    if word and not _NEEDS_QUOTES.search(word):
        return word
    mark = "'" if '"' in word else '"'
    return mark + word.replace(mark, mark * 2) + mark


class ResultKey(NamedTuple):
    """A key of results: `name(option=value)@judge`.

    Attributes:
        name: Name of the metric.
        spec: Everything before the judge: `name(option=value)`.
        judge: Name of the judge, "" without one.
    """

    name: str
    spec: str
    judge: str

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse a key. An @ inside parentheses belongs to an option."""
        at = ComponentSpec.mask_quoted(key).find("@")
        spec, judge = (key, "") if at < 0 else (key[:at], key[at + 1 :])
        return cls(spec.partition("(")[0].strip(), spec, judge)

    @classmethod
    def find(cls, name: str, keys: Iterable[str]) -> list[str]:
        """Return the key equal to `name`, else all keys with this bare name, in order."""
        keys = list(keys)
        return [name] if name in keys else [key for key in keys if cls.parse(key).name == name]

    @property
    def options(self) -> str:
        """The text in the parentheses, "" without them."""
        return self.spec.partition("(")[2].rstrip().removesuffix(")")


def _parse_options(component: str, text: str) -> dict[str, str]:
    """Parse the text in the parentheses. Raises UsageError."""
    options: dict[str, str] = {}
    for number, piece in enumerate(filter(None, ComponentSpec.split(text)), 1):
        option, equals, word = piece.partition("=")
        option, value = option.strip(), _unquote(word.strip())
        if not option or not value:
            label = f"{option}=…" if equals else f"option number {number}"
            raise UsageError(
                f"{component}: cannot read {label}; write option=value. Quote a value that "
                "contains a comma or parentheses"
            )
        if option in options:
            raise UsageError(f"{component}: the option {option!r} is given twice")
        options[option] = value
    return options


def _unquote(word: str) -> str | None:
    """Return a word without its quotes, None if they aren't closed."""
    if word[:1] not in _QUOTES or not word:
        return word
    return word[1:-1].replace(word[0] * 2, word[0]) if _IN_QUOTES.fullmatch(word) else None
