"""Truly-Ground's own files: entries → items, every field checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.benchmarks.published_files import PublishedFiles
from trueground.benchmarks.truly_ground.answers import references
from trueground.benchmarks.truly_ground.contexts import passage
from trueground.benchmarks.truly_ground.jsonfile import read_object
from trueground.errors import InputError
from trueground.records.problems import describe
from trueground.types import Passage

VERSIONS = {"original": "original_version", "conflict": "revised_version"}
META, DISTRACTORS = "qId2metaInfo", "qId2distractor"
TEXTS, TITLES = "localDocId2localDocText", "localDocId2title"
FILES = (*VERSIONS.values(), META, DISTRACTORS, TEXTS, TITLES)
# The publisher's repository has the questions in data/, the others in data/metadata/.
_PUBLISHED = PublishedFiles("truly-ground", (".", "metadata", "data", "data/metadata"), "data/")
find_file, look_for = _PUBLISHED.find, _PUBLISHED.look_for
_DIGITS = re.compile(r"[0-9]{1,15}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class VersionQuestion:
    """One question of one version; `popularity`, `contexts` and `answer` are its three factors."""

    id: str
    question: str
    references: tuple[str, ...]
    facts: tuple[str, ...]
    gold: tuple[Passage, ...]
    popularity: str
    contexts: str
    answer: str


def read_items(questions: Path, meta: Path) -> list[VersionQuestion]:
    """Every question, in the order of the numbers in their ids: the same in both versions.

    InputError: what is missing or wrong, and where.
    """
    factors, entries = read_object(meta), read_object(questions)
    return [
        _item(
            VersionFields(questions, key, entries[key]), VersionFields(meta, key, factors.get(key))
        )
        for key in sorted(entries, key=_natural)
    ]


def _natural(key: str) -> tuple[list[str], list[int], str]:
    """Q2 before Q10."""
    return _DIGITS.split(key), [int(number) for number in _DIGITS.findall(key)], key


class VersionFields:
    """One entry, read field by field; each error names file, question, field, found, expected."""

    def __init__(self, file: Path, key: str, entry: Any) -> None:
        self.file, self.key = file, key
        if not key.strip():
            raise InputError(f"{file}: found a blank qId; expected one as Q0")
        if not isinstance(entry, dict):
            found = "no such entry" if entry is None else describe(entry)
            raise InputError(f"{file}, qId {key!r}: found {found}; expected an object")
        self.entry: dict[str, Any] = entry

    def text(self, name: str, *, blank: bool = False) -> str:
        """A str without white space around it; an empty one only where `blank` is allowed."""
        value = self._value(name, "a str")
        if not isinstance(value, str):
            raise self.wrong(name, describe(value), "a str")
        return self._checked(name, value, blank)

    def texts(self, name: str) -> list[str]:
        """A list of str without white space around them, some of them perhaps empty."""
        value = self._value(name, "a list of str")
        if not isinstance(value, list):
            raise self.wrong(name, describe(value), "a list of str")
        for number, one in enumerate(value):
            if not isinstance(one, str):
                raise self.wrong(f"{name}[{number}]", describe(one), "a str")
        return [self._checked(f"{name}[{i}]", one, True) for i, one in enumerate(value)]

    def flag(self, name: str) -> bool:
        """A bool."""
        value = self._value(name, "true or false")
        if not isinstance(value, bool):
            raise self.wrong(name, describe(value), "true or false")
        return value

    def passages(self, name: str, gold: bool) -> tuple[Passage, ...]:
        """A list of contexts, each with a text; those that stand there twice are taken once."""
        found = [(i, passage(text, gold)) for i, text in enumerate(self.texts(name))]
        for number, one in found:
            if one is None:
                raise self.wrong(f"{name}[{number}]", "a context without text", "a text")
        unique: list[Passage] = []
        for _, one in found:
            if one is not None and one not in unique:
                unique.append(one)
        return tuple(unique)

    def wrong(self, field: str, found: str, expected: str) -> InputError:
        """The error to raise."""
        return InputError(
            f"{self.file}, qId {self.key!r}, field {field!r}: found {found}; expected {expected}"
        )

    def _value(self, name: str, expected: str) -> Any:
        if name not in self.entry:
            raise self.wrong(name, f"no such field in {describe(self.entry)}", expected)
        return self.entry[name]

    def _checked(self, name: str, value: str, blank: bool) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.wrong(name, "half of a surrogate pair", "sound Unicode") from None
        text = _CONTROL.sub("", value).strip()
        if not text and not blank:
            raise self.wrong(name, describe(value), "a str that is not blank")
        return text


def _item(fields: VersionFields, meta: VersionFields) -> VersionQuestion:
    if (own := fields.text("qId")) != fields.key:
        raise fields.wrong("qId", describe(own), f"{fields.key!r}, as the key of the entry")
    definite = meta.flag("has_answer")
    popularity = meta.text("pop")
    if popularity not in ("high", "low"):
        raise meta.wrong("pop", describe(popularity), "high or low")
    facts = [fact for fact in fields.texts("atomic_texts") if fact]
    gold = fields.passages("context_list", gold=True)
    for name, found in (("atomic_texts", facts), ("context_list", gold)):
        if not found:
            raise fields.wrong(name, "nothing but blanks", "one text or more")
    return VersionQuestion(
        id=fields.key,
        question=fields.text("qText"),
        references=_references(fields, definite),
        facts=tuple(facts),
        gold=gold,
        popularity=popularity,
        contexts="multi" if meta.flag("has_multi") else "single",
        answer="definite" if definite else "free-form",
    )


def _references(fields: VersionFields, definite: bool) -> tuple[str, ...]:
    text = fields.text("answer", blank=True)
    if text and not definite:
        raise fields.wrong("answer", describe(text), "nothing, as has_answer is false")
    try:
        return tuple(references(text))
    except ValueError as error:
        form = '"A | other A", or "A & B" with a line "A | other A" for a part'
        raise fields.wrong("answer", str(error), form) from None
