"""Truly-Ground's own files: entries → questions with contexts and references, every field checked.

An answer as the files write it: `|` stands between alternatives, `&` between parts that are all
needed, and lines after the first (some with a real line break, some with the two characters \\n)
give the alternatives of one part, headed by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

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
MOST_REFERENCES = 1000  # of one answer
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
    factors, entries = read_entries(meta), read_entries(questions)

    def natural(key: str) -> tuple[list[str], list[int], str]:  # Q2 before Q10
        return _DIGITS.split(key), [int(number) for number in _DIGITS.findall(key)], key

    return [
        _item(
            read_entry(_Instance, questions, entries, key), read_entry(_Factors, meta, factors, key)
        )
        for key in sorted(entries, key=natural)
    ]


def read_entry(kind: type[E], file: Path, entries: dict[str, Any], key: str) -> E:
    """The entry of a question. InputError: there is none, or a field is wrong."""
    return kind.read(f"{file}, qId {key!r}", find_entry(file, entries, key))


def find_entry(file: Path, entries: dict[str, Any], key: str) -> dict[str, Any]:
    """The entry of a question as it stands. InputError: there is none."""
    entry = entries.get(key)
    if not isinstance(entry, dict):
        found = describe(entry) if key in entries else "no such entry"
        raise InputError(f"{file}, qId {key!r}: found {found}; expected an object")
    return entry


def _item(entry: _Instance, factors: _Factors) -> VersionQuestion:
    key = entry.place.rpartition("qId ")[2]
    try:
        if repr(_clean(entry.key)) != key:
            raise Problem("qId", describe(entry.key), f"{key}, as the key of the entry")
        facts = tuple(filter(None, map(_clean, entry.facts)))
        gold = parse_contexts("context_list", entry.contexts, gold=True)
        for name, found in (("atomic_texts", facts), ("context_list", gold)):
            if not found:
                raise Problem(name, "nothing but blanks", "one text or more")
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
    """The passages of a list of contexts; those that stand there twice are taken once. Problem."""
    unique: list[Passage] = []
    for number, text in enumerate(contexts):
        if not isinstance(text, str):
            raise Problem(f"{field}[{number}]", describe(text), "a str")
        one = parse_context(_clean(text), gold=gold)
        if one is None:
            raise Problem(f"{field}[{number}]", "a context without text", "a text")
        if one not in unique:
            unique.append(one)
    return tuple(unique)


def parse_context(context: str, *, gold: bool) -> Passage | None:
    """`Title: X [url]`, then the text, as a passage; None if there is no text.

    A context without such a line is a text without a title.
    """
    head = _HEADED.fullmatch(context.strip())
    text = (head["text"] if head else context).strip()
    if not text:
        return None
    if head is None:
        return Passage(text, gold=gold)
    return Passage(text, title=head["title"].strip() or None, gold=gold, source=head["source"])


def format_context(passage: Passage) -> str:
    """One context in the layout of Figure 12: its title with the address, a free line, the text."""
    if passage.title is None:
        return passage.text
    source = f" [{passage.source}]" if passage.source else ""
    return f"Title: {passage.title}{source}\n\n{passage.text}"


def pages_of(passages: Iterable[Passage]) -> set[str]:
    """By what the pages of the passages are known: their addresses and their titles."""
    return {name for one in passages for name in (one.source, one.title) if name}


def parse_references(answer: str) -> list[str]:
    """Every acceptable answer once; where it has parts, they are joined by " & ".

    Empty for a blank answer. ValueError, whose words say what was found, for alternatives of a
    part that the first line does not name, and for more than MOST_REFERENCES references.
    """
    lines = [line for line in _LINES.split(answer.strip()) if line]
    if not lines:
        return []
    first, *others = lines
    parts = [_alternatives(part) for part in _PARTS.split(first)]
    for line in others:
        more = _alternatives(line)
        part = next((part for part in parts if more and more[0] in part), None)
        if part is None:
            raise ValueError(f"alternatives of {line!r}, which is no part of {first!r}")
        part += [one for one in more if one not in part]
    if prod(map(len, parts)) > MOST_REFERENCES:
        raise ValueError(f"more than {MOST_REFERENCES:,} combinations of alternatives")
    return list(dict.fromkeys(PART.join(chosen) for chosen in product(*parts) if any(chosen)))


def _alternatives(text: str) -> list[str]:
    return [one for one in _ALTERNATIVES.split(text.strip()) if one]
