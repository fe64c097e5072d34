"""A row of plain values → a Record in canonical form, or the Problem that prevents it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from trueground.records.mapping import FIELDS
from trueground.records.problems import (
    Problem,
    as_label,
    as_list,
    as_number,
    as_text,
    as_value,
    describe,
    no_remedy,
)
from trueground.types import Answered, Choice, Failure, Passage, Record, Triple, Turn

LARGEST_RESPONSE = 10_000_000
AT_MOST = f"an answer of at most {LARGEST_RESPONSE:,} characters"
_Label = float | bool | None
_Value = str | int | float | bool | None
_Property = _Value | list[_Value]
_Part = str | int | float


class _Row(msgspec.Struct, kw_only=True):
    """What a file may say, before texts, turns and labels are brought to one form."""

    response: str
    id: str | int | None = None
    question: str | None = None
    history: list[str | Turn] | None = None
    contexts: str | list[str | Passage] | None = None
    references: str | list[str] | None = None
    gold_facts: list[str] | None = None
    response_facts: list[str | tuple[str, list[str]]] | None = None
    choices: list[Choice] | None = None
    answerable: bool | None = None
    knowledge: list[dict[str, _Property]] | None = None
    gold_knowledge: list[tuple[_Part, _Part, _Part]] | None = None
    absent_knowledge: list[tuple[_Part, _Part, _Part]] | None = None
    human: dict[str, _Label] | None = None
    model: str | None = None
    group: str | None = None
    meta: dict[str, Any] | None = None


def to_record(row: dict[str, Any], displaced: dict[str, Any] | None, ordinal: int) -> Record:
    """The record of a row; `ordinal` is its 0-based number, the id of a row that has none.

    Unknown fields and `displaced` ones go to `meta`, where what the row's own `meta` says wins. A
    result row of Instruct-QA's authors, `id_`, `answer` and `prompt`, is read as what it is.
    """
    if "response" not in row and row.keys() >= {"id_", "answer", "prompt"}:
        row = {"id": row["id_"], "response": row["answer"]} | row
        del row["id_"], row["answer"]
    try:
        r = msgspec.convert(row, _Row)
    except msgspec.ValidationError as error:
        raise _explain(row, str(error)) from None
    if len(r.response) > LARGEST_RESPONSE:
        raise Problem("response", f"a text of {len(r.response):,} characters", AT_MOST)
    meta = r.meta
    kind: Callable[..., Record] = Record
    if displaced or not row.keys() <= FIELDS:
        unknown = {name: value for name, value in row.items() if name not in FIELDS}
        failure = _failure(unknown.get("failure"))
        if failure is not None:
            del unknown["failure"]
            kind = partial(Answered, failure=failure)
        meta = (unknown | (displaced or {}) | (meta or {})) or None
    return kind(
        id=str(ordinal if r.id is None else r.id),
        response=r.response,
        question=r.question,
        history=None if r.history is None else _turns(r.history),
        contexts=None if r.contexts is None else _passages(r.contexts),
        references=[r.references] if isinstance(r.references, str) else r.references,
        gold_facts=r.gold_facts,
        response_facts=None if r.response_facts is None else _facts(r.response_facts),
        choices=r.choices,
        answerable=r.answerable,
        knowledge=None if r.knowledge is None else _graphs(r.knowledge),
        gold_knowledge=None if r.gold_knowledge is None else _triples(r.gold_knowledge),
        absent_knowledge=None if r.absent_knowledge is None else _triples(r.absent_knowledge),
        human=None if r.human is None else _labels(r.human),
        model=r.model,
        group=r.group,
        meta=meta,
    )


def _failure(value: Any) -> Failure | None:
    """Why a model gave no answer, as a run's records say it; anything else is a user's own field.

    Without it, an answer that never came would be scored as an empty one.
    """
    if isinstance(value, Failure):
        return value
    try:
        return msgspec.convert(value, _Failure) if isinstance(value, dict) else None
    except msgspec.ValidationError:
        return None


def _turns(history: list[str | Turn]) -> list[Turn]:
    return [Turn(t) if isinstance(t, str) else t for t in history]


def _passages(contexts: str | list[str | Passage]) -> list[Passage]:
    if isinstance(contexts, str):
        return [Passage(contexts)]
    return [Passage(c) if isinstance(c, str) else c for c in contexts]


def _facts(facts: list[str | tuple[str, list[str]]]) -> list[str]:
    """As they are, or FActScore's [sentence, [fact, …]] one after the other."""
    return [one for fact in facts for one in ([fact] if isinstance(fact, str) else fact[1])]


def _graphs(knowledge: list[dict[str, _Property]]) -> list[dict[str, Any]]:
    for i, graph in enumerate(knowledge):
        if not isinstance(graph.get("qid"), str):
            found = describe(graph["qid"]) if "qid" in graph else f"no qid in {describe(graph)}"
            raise Problem(f"knowledge[{i}].qid", found, 'a str such as "Q90"')
    return [{name: v for name, v in graph.items() if v is not None} for graph in knowledge]


def _triples(triples: list[tuple[_Part, _Part, _Part]]) -> list[Triple]:
    return [[str(part) for part in triple] for triple in triples]


def _labels(human: dict[str, _Label]) -> dict[str, float]:
    return {name: float(value) for name, value in human.items() if value is not None}


class _Failure(Failure, frozen=True, forbid_unknown_fields=True):
    """A failure and nothing else."""


_TRIPLES = 'a list of [qid, property, value] lists such as ["Q90", "country", "France"]'
_EXPECTED = {
    "response": ('a str (the empty string "" is an answer, null is not)', as_text),
    "id": ("a str or an int, unique over all files", as_text),
    "question": ("a str", as_text),
    "history": ('a list of str or of {"role": …, "content": …}', as_list),
    "history[]": ('a str or {"role": …, "content": …}', as_text),
    "history[].content": ("a str", as_text),
    "history[].role": ('a str such as "user", or null', as_text),
    "contexts": ('a list of str or of {"text": …}, or one str', as_list),
    "contexts[]": ('a str or {"text": …}', as_text),
    "contexts[].text": ("a str", as_text),
    "contexts[].id": ("a str, an int or null", as_text),
    "contexts[].title": ("a str or null", as_text),
    "contexts[].source": ("a str or null", as_text),
    "contexts[].gold": ("true, false or null", as_value),
    "references": ("a list of str, or one str", as_list),
    "gold_facts": ("a list of str", as_list),
    "response_facts": ("a list of str, or of [sentence, [fact, …]]", as_list),
    "response_facts[]": ("a str, or [sentence, [fact, …]]", as_text),
    "response_facts[][]": ("[sentence, [fact, …]]", no_remedy),
    "choices": ('a list of {"label": …, "text": …}', as_list),
    "choices[]": ('{"label": …, "text": …}', as_text),
    "answerable": ("true or false", as_value),
    "knowledge": ('a list of graphs such as {"qid": "Q90", "country": "France"}', as_list),
    "knowledge[]": ('a graph such as {"qid": "Q90", "country": "France"}', as_text),
    "knowledge[].*": ("a str, a number, a bool or a list of these", as_text),
    "gold_knowledge": (_TRIPLES, as_list),
    "gold_knowledge[]": ("a list of three: [qid, property, value]", as_list),
    "gold_knowledge[][]": ("a str or a number", as_text),
    "human": ('an object of numbers such as {"faithful": 1}', as_label),
    "human.*": ("a finite number, or true or false", as_number),
    "model": ("a str", as_text),
    "group": ("a str", as_text),
    "meta": ("an object such as {…}", no_remedy),
}
_ANY_MEMBER = {"human": _Label, "knowledge": _Property}
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])")


def _explain(row: dict[str, Any], message: str) -> Problem:
    """The Problem behind msgspec's message: the exact path, the value found, and the remedy."""
    path, kind, value = "", "", row  # type: str, str, Any
    where = message.rpartition(" - at `$")[2].rstrip("`") if " - at `$" in message else ""
    for name, index, member in _STEP.findall(where):
        if member:
            key = _wrong_member(value, _ANY_MEMBER[path.partition("[")[0]])
            path, kind, value = f"{path}.{key}", f"{kind}.*", value[key]
            break  # what is inside a wrong member is described with it
        if name:
            path, kind = (f"{path}.{name}", f"{kind}.{name}") if path else (name, name)
            value = value[name]
        else:
            path, kind, value = f"{path}[{index}]", f"{kind}[]", value[int(index)]
    found = describe(value)
    if missing := re.match(r"Object missing required field `(\w+)`", message):
        found = f"no such field in {found}"
        path = f"{path}.{missing[1]}" if path else missing[1]
        kind = f"{kind}.{missing[1]}" if kind else missing[1]
        value = None
    expected, remedy = _EXPECTED.get(kind.replace("absent_", "gold_"), ("a str", as_text))
    hint = "; --map response=COLUMN names another column" if found.startswith("no ") else ""
    return Problem(path, found, expected + remedy(value) + (hint if path == "response" else ""))


def _wrong_member(members: dict[str, Any], wanted: Any) -> str:
    """The first key whose value is not of the wanted type."""
    for key, value in members.items():
        try:
            msgspec.convert(value, wanted)
        except msgspec.ValidationError:
            return key
    raise AssertionError("msgspec refused an object all of whose members are right")
