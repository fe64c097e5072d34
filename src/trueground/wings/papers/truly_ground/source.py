"""Read and check Truly-Ground's files: questions with contexts and references.

In an answer, `|` separates alternatives, and `&` separates parts that are all needed. Each further
line has the alternatives of one part, starting with that part. Lines end with a line break or with
the two characters \\n.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from msgspec import Meta

from trueground.benchmarks import DataRow, Text, named
from trueground.errors import InputError
from trueground.records import Problem, describe
from trueground.types import Passage
from trueground.wings.papers.user_files import read_entries

VERSIONS = {"original": "original_version", "conflict": "revised_version"}
META, DISTRACTORS = "qId2metaInfo", "qId2distractor"
TEXTS, TITLES = "localDocId2localDocText", "localDocId2title"
FILES = (*VERSIONS.values(), META, DISTRACTORS, TEXTS, TITLES)
DATASET = "truly-ground"
PART = " & "
MAX_REFERENCES = 1000  # Combinations of the alternatives of an answer.
_DIGITS = re.compile(r"[0-9]{1,15}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HEADED = re.compile(
    r"Title: (?P<title>[^\n]*?)(?:[ \t]+\[(?P<source>\S+)\])?[ \t]*(?:\n|\Z)(?P<text>.*)", re.DOTALL
)
_LINES = re.compile(r"\s*(?:\n|\\n)\s*")
_PARTS = re.compile(r"\s+&\s+")
_ALTERNATIVES = re.compile(r"\s*\|\s*")
E = TypeVar("E", bound=DataRow)


class _Instance(DataRow):
    key: Annotated[Text, named("qId")]
    question: Annotated[Text, named("qText")]
    answer: str
    facts: Annotated[list[str], named("atomic_texts")]
    contexts: Annotated[list[str], named("context_list")]


class _Factors(DataRow):
    has_answer: bool
    has_multi: bool
    popularity: Annotated[
        Literal["high", "low"], Meta(description="high or low", extra={"names": ("pop",)})
    ]


@dataclass(frozen=True)
class VersionQuestion:
    """A question of one version. `popularity`, `contexts` and `answer` are its factors."""

    id: str
    question: str
    references: tuple[str, ...]
    facts: tuple[str, ...]
    gold: tuple[Passage, ...]
    popularity: str
    contexts: str
    answer: str


def read_items(questions: Path, meta: Path) -> list[VersionQuestion]:
    """Return all questions, ordered by the numbers in their ids, as in both versions.

    Args:
        questions: The file of the questions of a version.
        meta: The file of their factors.

    Raises:
        InputError: An entry or a field is missing or invalid.
    """
    factors = read_entries(meta)
    entries = read_entries(questions)
    items = []
    for key in sorted(entries, key=_natural_sort_key):
        instance = read_entry(_Instance, questions, entries, key)
        items.append(_item(instance, read_entry(_Factors, meta, factors, key)))
    return items


class _NaturalKey(NamedTuple):
    """Sort key that puts Q2 before Q10."""

    texts: list[str]
    numbers: list[int]
    key: str


def _natural_sort_key(key: str) -> _NaturalKey:
    return _NaturalKey(_DIGITS.split(key), [int(number) for number in _DIGITS.findall(key)], key)


def read_entry(kind: type[E], file: Path, entries: dict[str, Any], key: str) -> E:
    """Return a question's entry. Raise InputError if it is missing or a field is invalid."""
    return kind.read(f"{file}, qId {key!r}", find_entry(file, entries, key))


def find_entry(file: Path, entries: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a question's entry, unchecked. Raise InputError if it is missing."""
    entry = entries.get(key)
    if not isinstance(entry, dict):
        value = describe(entry) if key in entries else "no such entry"
        raise InputError(f"{file}, qId {key!r}: found {value}; expected an object")
    return entry


def _item(entry: _Instance, factors: _Factors) -> VersionQuestion:
    key = entry.place.rpartition("qId ")[2]
    try:
        if repr(_clean(entry.key)) != key:
            raise Problem("qId", describe(entry.key), f"{key}, as the key of the entry")
        facts = tuple(filter(None, map(_clean, entry.facts)))
        gold = parse_contexts("context_list", entry.contexts, gold=True)
        for name, values in (("atomic_texts", facts), ("context_list", gold)):
            if not values:
                raise Problem(name, "only blanks", "one text or more")
        answer = _clean(entry.answer)
        if answer and not factors.has_answer:
            raise Problem("answer", describe(answer), "nothing, as has_answer is false")
        references = tuple(parse_references(answer))
    except Problem as problem:
        raise InputError(problem.message(entry.place)) from None
    except ValueError as error:
        form = '"A | other A", or "A & B" with a line "A | other A" for a part'
        raise InputError(Problem("answer", str(error), form).message(entry.place)) from None
    return VersionQuestion(
        id=_clean(entry.key),
        question=_clean(entry.question),
        references=references,
        facts=facts,
        gold=gold,
        popularity=factors.popularity,
        contexts="multi" if factors.has_multi else "single",
        answer="definite" if factors.has_answer else "free-form",
    )


def _clean(text: str) -> str:
    return _CONTROL.sub("", text).strip()


def parse_contexts(field: str, contexts: Sequence[Any], *, gold: bool) -> tuple[Passage, ...]:
    """Return the passages of a list of contexts, without repetitions. Raise Problem."""
    unique: list[Passage] = []
    for number, text in enumerate(contexts):
        if not isinstance(text, str):
            raise Problem(f"{field}[{number}]", describe(text), "a str")
        passage = parse_context(_clean(text), gold=gold)
        if passage is None:
            raise Problem(f"{field}[{number}]", "a context without text", "a text")
        if passage not in unique:
            unique.append(passage)
    return tuple(unique)


def parse_context(context: str, *, gold: bool) -> Passage | None:
    """Parse a context: a line `Title: X [url]`, then the text.

    A context without such a line has no title. The result is None if there is no text.
    """
    head = _HEADED.fullmatch(context.strip())
    text = (head["text"] if head else context).strip()
    if not text:
        return None
    if head is None:
        return Passage(text, gold=gold)
    return Passage(text, title=head["title"].strip() or None, gold=gold, source=head["source"])


def format_context(passage: Passage) -> str:
    """Return a context in the format of Figure 12: title and address, a blank line, the text."""
    if passage.title is None:
        return passage.text
    source = f" [{passage.source}]" if passage.source else ""
    return f"Title: {passage.title}{source}\n\n{passage.text}"


def pages_of(passages: Iterable[Passage]) -> set[str]:
    """Return the addresses and titles of the passages' pages."""
    names = set()
    for passage in passages:
        names |= {passage.source, passage.title}
    return {name for name in names if name}


def parse_references(answer: str) -> list[str]:
    """Return every acceptable answer once, with its parts joined by " & ".

    A blank answer has none.

    Raises:
        ValueError: A line has alternatives of a part that the first line lacks, or there are more
            than MAX_REFERENCES references. The message says what was found.
    """
    lines = [line for line in _LINES.split(answer.strip()) if line]
    if not lines:
        return []
    first, *other_lines = lines
    parts = [_alternatives(part) for part in _PARTS.split(first)]
    for line in other_lines:
        more = _alternatives(line)
        part = next((part for part in parts if more and more[0] in part), None)
        if part is None:
            raise ValueError(f"alternatives of {line!r}, which isn't a part of {first!r}")
        part += [alternative for alternative in more if alternative not in part]
    if prod(map(len, parts)) > MAX_REFERENCES:
        raise ValueError(f"more than {MAX_REFERENCES:,} combinations of alternatives")
    return list(dict.fromkeys(PART.join(chosen) for chosen in product(*parts) if any(chosen)))


def _alternatives(text: str) -> list[str]:
    return [alternative for alternative in _ALTERNATIVES.split(text.strip()) if alternative]
