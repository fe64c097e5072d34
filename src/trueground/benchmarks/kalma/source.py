"""The questions: the published files as they are, and a user's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from trueground.benchmarks.datasets import PublishedFiles
from trueground.benchmarks.kalma.rows import FoundWords, read_items, refused, wrong
from trueground.errors import InputError, UsageError
from trueground.records.columns import FIELDS
from trueground.records.problems import Problem
from trueground.records.schema import to_record
from trueground.text.triples import plain
from trueground.types import Graph, Record, Triple

FILES = {"specific": "complex_question_graph", "general": "simple_question_graph"}
_OWN = "a file of your own questions is for kalma/questions"
_PUBLISHED = PublishedFiles("kalma", (".", "dataset"), "dataset", _OWN)
# Stands before most of the general questions, and is no part of them.
_PREFIX = "question:"
_EXPECTED = '[question, [graph, …]], or {"question": "…", "knowledge": [{"qid": "Q1", …}]}'
_READ = ("id", "question", "knowledge", "gold_knowledge", "absent_knowledge", "group", "meta")
_NEAR = 0.85  # likeness of a field's name to one that is read
# What is said of an answer that another model gave.
_OF_ANSWERS = ("response", "response_facts", "model", "human", "failure")


@dataclass(frozen=True)
class GraphQuestion:
    """One question. `graphs` come with it; None where the file says nothing of a field.

    `names` are all texts under which files of minimum sets may name it; `misspelt` pairs fields
    that are not read with those that were probably meant.
    """

    id: str
    question: str
    graphs: tuple[Graph, ...] | None
    names: tuple[str, ...]
    minimum: tuple[Triple, ...] | None = None
    absent: tuple[Triple, ...] | None = None
    group: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    misspelt: tuple[tuple[str, str], ...] = ()


def question_key(question: str) -> str:
    """Equal for questions that differ in white space, Unicode form or the file's prefix only."""
    return plain(_unprefixed(question))


def read_published(
    task: str, data: Path | None, *, both: bool = False
) -> tuple[list[GraphQuestion], list[Path]]:
    """The entries of a task, and the files that were read; ids are the entries' numbers, from 0.

    An entry stands in both files at the same place: with `both` the other file, where it is there,
    tells its other question. InputError.
    """
    files = [_PUBLISHED.find(FILES[task], data)]
    entries = read_entries(files[0])
    other = (
        _PUBLISHED.look_for(FILES["general" if task == "specific" else "specific"], data)
        if both
        else None
    )
    others = read_entries(other) if other is not None else []
    if other is not None and len(others) == len(entries):
        pairs = zip(entries, others, strict=True)
        entries = [replace(one, names=(*one.names, *two.names)) for one, two in pairs]
        files.append(other)
    return [replace(one, question=_unprefixed(one.question)) for one in entries], files


def read_own(data: Path | None) -> tuple[list[GraphQuestion], list[Path]]:
    """A user's questions. UsageError: no file is named; InputError."""
    if data is None:
        raise UsageError(
            f"kalma/questions asks your own questions: --data FILE, each of them {_EXPECTED}"
        )
    return read_entries(data), [data]


def read_entries(path: Path) -> list[GraphQuestion]:
    """Every entry in its order; one without an id has its number, from 0. InputError."""
    entries = [
        _entry(place, item, number)
        for number, (place, item) in enumerate(read_items(path, _EXPECTED))
    ]
    if not entries:
        raise InputError(f"{path} holds no question; expected {_EXPECTED}")
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise InputError(f"{path}: found the id {entry.id!r} twice; expected each id once")
        seen.add(entry.id)
    return entries


def _entry(place: str, item: Any, number: int) -> GraphQuestion:
    if isinstance(item, list):
        if len(item) != 2:
            raise wrong(place, item, _EXPECTED)
        item = {"question": item[0], "knowledge": item[1]}
    if not isinstance(item, dict):
        raise wrong(place, item, _EXPECTED)
    record = _record(place, item, number)
    question = (record.question or "").strip()
    if not question:
        raise wrong(place, FoundWords("no question"), _EXPECTED)
    return GraphQuestion(
        record.id,
        question,
        None if record.knowledge is None else tuple(_unique(place, record.knowledge)),
        (question_key(question),),
        _triples(record.gold_knowledge),
        _triples(record.absent_knowledge),
        record.group,
        record.meta or {},
        tuple(_misspelt(item)),
    )


def _misspelt(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    absent = [name for name in _READ if name not in row]
    for name in row:
        if name not in FIELDS and (near := get_close_matches(name.lower(), absent, 1, _NEAR)):
            yield name, near[0]


def _record(place: str, row: dict[str, Any], number: int) -> Record:
    asked = {name: value for name, value in row.items() if name not in _OF_ANSWERS}
    try:
        return to_record({**asked, "response": ""}, None, number)
    except Problem as problem:
        raise refused(place, problem) from None


def _unique(place: str, graphs: list[Graph]) -> Iterator[Graph]:
    seen: set[str] = set()
    for number, graph in enumerate(graphs):
        qid = plain(str(graph["qid"]))
        if not qid or qid in seen:
            what = f"the qid {qid!r} twice" if qid else "a blank qid"
            raise wrong(
                f"{place}, field 'knowledge[{number}]'", FoundWords(what), "each entity once"
            )
        seen.add(qid)
        yield graph


def _triples(triples: list[Triple] | None) -> tuple[Triple, ...] | None:
    return None if triples is None else tuple(triples)


def _unprefixed(question: str) -> str:
    text = question.strip()
    bare = text[len(_PREFIX) :].strip() if text[: len(_PREFIX)].lower() == _PREFIX else ""
    return bare or text
