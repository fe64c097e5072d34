"""A triple as a simple sentence, by the part of speech of its relation (Li et al. 2024, A.3).

The paper has three templates and does not print them. Ours: a relation that is a noun is had, one
that is a verb is done, and one that is an adjective, a participle or ends in a preposition is been.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from trueground.errors import InputError, UsageError
from trueground.text.placeholders import placeholders_in
from trueground.text.triples import plain_property

Part = Literal["noun", "verb", "adjective"]
PARTS: tuple[Part, ...] = ("noun", "verb", "adjective")
_DEFAULT: Mapping[Part, str] = {
    "noun": "{name}'s {relation} is {value}.",
    "verb": "{name} {relation} {value}.",
    "adjective": "{name} is {relation} {value}.",
}
_PLACES = ("name", "relation", "value")
_FILLED = re.compile(r"\{(name|relation|value)\}")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PARTICIPLE = re.compile(r"[a-z]{2,}(?<!e)ed\Z")
_EXPECTED = (
    'JSON such as {"noun": "{name}\'s {relation} is {value}.", "relations": {"work": "verb"}}'
)


@dataclass(frozen=True)
class Wording:
    """The templates, and the part of speech of relations that the rules should not decide."""

    templates: Mapping[Part, str] = field(default_factory=lambda: dict(_DEFAULT))
    known: Mapping[str, Part] = field(default_factory=dict)

    def sentence(self, name: str, relation: str, value: str) -> str:
        """The sentence that says the triple; white space is collapsed."""
        words = relation_words(relation)
        part = self.known.get(" ".join(words).casefold()) or part_of_speech(relation)
        places = {"name": name, "relation": " ".join(words), "value": value}
        text = _FILLED.sub(lambda match: places[match[1]], self.templates[part])
        return " ".join(text.split())

    @property
    def sha256(self) -> str:
        """Of all that fixes the sentences, the list of words included."""
        own = msgspec.json.encode((dict(self.templates), dict(self.known)), order="sorted")
        return sha256(own + _data().encode()).hexdigest()


def relation_words(relation: str) -> list[str]:
    """The words of a relation's name: `place_of_birth`, `livesIn`; asides in brackets left out."""
    text = plain_property(relation)
    bare = _ASIDE.sub("", text).strip() or text
    return _HUMP.sub(" ", bare).split() if " " not in bare else bare.split()


def part_of_speech(relation: str) -> Part:
    """Noun, verb or adjective, told by the relation's words alone.

    A verb: the first word is one of a short list ("succeeds", "participated in"). An adjective, a
    participle or a preposition: the last word is a preposition ("influenced by", "student of"), or
    the second is one and the first is a participle or of a list ("nominated for", "part of the
    series"), or all there is is a preposition with its object. All else is a noun.
    """
    words = [word.casefold() for word in relation_words(relation)]
    lists = _lists()
    if words[0] in lists["verbs"] and words[0] not in lists["states"]:
        return "verb"
    if words[-1] in lists["prepositions"] or words[0] in lists["prepositions"]:
        return "adjective"
    joined = len(words) > 1 and words[1] in lists["prepositions"]
    told = words[0] in lists["states"] or _PARTICIPLE.match(words[0]) is not None
    if joined and told:
        return "adjective"
    return "noun"


def read_wording(path: Path | None) -> Wording:
    """The user's templates, or our own. InputError: no such file; UsageError: no templates."""
    if path is None:
        return Wording()
    row = read_json_object(path, "the templates", _EXPECTED)
    own = row.pop("relations", {})
    templates: dict[Any, Any] = {**_DEFAULT, **row}
    for name, text in templates.items():
        if name not in PARTS:
            raise UsageError(f"the templates {path}: found {name!r}; expected {', '.join(PARTS)}")
        if not isinstance(text, str) or not set(_PLACES) <= set(placeholders_in(text)):
            raise UsageError(
                f"the templates {path}, {name}: expected a text with {{name}}, {{relation}} and "
                "{value}"
            )
    if not isinstance(own, dict) or not all(part in PARTS for part in own.values()):
        raise UsageError(
            f"the templates {path}, relations: expected each relation with one of "
            f"{', '.join(PARTS)}"
        )
    known = {" ".join(relation_words(name)).casefold(): part for name, part in own.items()}
    return Wording(templates, known)


def read_json_object(path: Path, what: str, expected: str) -> dict[str, Any]:
    """A JSON object of a file. InputError."""
    try:
        value = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{what} {path}: no JSON ({error}); expected {expected}") from None
    if not isinstance(value, dict) or not all(name.strip() for name in value):
        raise InputError(f"{what} {path}: expected {expected}")
    return value


@cache
def _data() -> str:
    return (files(__package__) / "data" / "relation_words.txt").read_text(encoding="utf-8")


@cache
def _lists() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    section: set[str] = set()
    for line in _data().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            section.add(line)
    return {name: frozenset(words) for name, words in found.items()}
