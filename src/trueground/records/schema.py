"""The schema of records: a row of plain values → a Record in canonical form, or the Problem in it.

Each wrong value is reported with its path, what was expected there, and how to write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from trueground.records.columns import FIELDS, unquote_remedy
from trueground.records.problems import Problem, describe, shorten
from trueground.types import Answered, Choice, Failure, Passage, Record, Turn

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

    Unknown fields and `displaced` ones go to `meta`, where what the row's own `meta` says wins.
    """
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
    contexts = [r.contexts] if isinstance(r.contexts, str) else r.contexts
    return kind(
        id=str(ordinal if r.id is None else r.id),
        response=r.response,
        question=r.question,
        history=r.history and [Turn(t) if isinstance(t, str) else t for t in r.history],
        contexts=contexts and [Passage(c) if isinstance(c, str) else c for c in contexts],
        references=[r.references] if isinstance(r.references, str) else r.references,
        gold_facts=r.gold_facts,
        # FActScore's [sentence, [fact, …]] one after the other.
        response_facts=r.response_facts
        and [one for f in r.response_facts for one in ([f] if isinstance(f, str) else f[1])],
        choices=r.choices,
        answerable=r.answerable,
        knowledge=r.knowledge and _check_graphs(r.knowledge),
        gold_knowledge=r.gold_knowledge and [[str(p) for p in t] for t in r.gold_knowledge],
        absent_knowledge=r.absent_knowledge and [[str(p) for p in t] for t in r.absent_knowledge],
        human=r.human and {n: float(v) for n, v in r.human.items() if v is not None},
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


def _check_graphs(knowledge: list[dict[str, _Property]]) -> list[dict[str, Any]]:
    for i, graph in enumerate(knowledge):
        if not isinstance(graph.get("qid"), str):
            found = describe(graph["qid"]) if "qid" in graph else f"no qid in {describe(graph)}"
            raise Problem(f"knowledge[{i}].qid", found, 'a str such as "Q90"')
    return [{name: v for name, v in graph.items() if v is not None} for graph in knowledge]


class _Failure(Failure, frozen=True, forbid_unknown_fields=True):
    """A failure and nothing else."""


def _list_remedy(value: Any) -> str:
    """The remedy for a lone value where a list belongs: how to write the list."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"; write [{json.dumps(shorten(str(value), 30), ensure_ascii=False)}]"
    return "; write [{…}]" if isinstance(value, dict) else ""


def _text_remedy(value: Any) -> str:
    """The remedy for a number where a text belongs: how to write the text."""
    if isinstance(value, bool):
        return f'; write "{str(value).lower()}"'
    if isinstance(value, int | float):
        return f'; write "{shorten(str(value), 30) if abs(value) < 10**40 else "…"}"'
    return ""


def _number_remedy(value: Any) -> str:
    """The remedy for a quoted number."""
    try:
        return f"; write {shorten(str(float(value)))}" if isinstance(value, str) else ""
    except ValueError:
        return unquote_remedy(value)


def _label_remedy(_value: Any) -> str:
    """The remedy for a lone label where an object of labels belongs: its column, under a name."""
    return "; --map human.NAME=COLUMN reads one label from a column, as in human.faithful=score"


def _no_remedy(_value: Any) -> str:
    return ""


_TRIPLES = 'a list of [qid, property, value] lists such as ["Q90", "country", "France"]'
_EXPECTED = {
    "response": ('a str (the empty string "" is an answer, null is not)', _text_remedy),
    "id": ("a str or an int, unique over all files", _text_remedy),
    "question": ("a str", _text_remedy),
    "history": ('a list of str or of {"role": …, "content": …}', _list_remedy),
    "history[]": ('a str or {"role": …, "content": …}', _text_remedy),
    "history[].content": ("a str", _text_remedy),
    "history[].role": ('a str such as "user", or null', _text_remedy),
    "contexts": ('a list of str or of {"text": …}, or one str', _list_remedy),
    "contexts[]": ('a str or {"text": …}', _text_remedy),
    "contexts[].text": ("a str", _text_remedy),
    "contexts[].id": ("a str, an int or null", _text_remedy),
    "contexts[].title": ("a str or null", _text_remedy),
    "contexts[].source": ("a str or null", _text_remedy),
    "contexts[].gold": ("true, false or null", unquote_remedy),
    "references": ("a list of str, or one str", _list_remedy),
    "gold_facts": ("a list of str", _list_remedy),
    "response_facts": ("a list of str, or of [sentence, [fact, …]]", _list_remedy),
    "response_facts[]": ("a str, or [sentence, [fact, …]]", _text_remedy),
    "response_facts[][]": ("[sentence, [fact, …]]", _no_remedy),
    "choices": ('a list of {"label": …, "text": …}', _list_remedy),
    "choices[]": ('{"label": …, "text": …}', _text_remedy),
    "answerable": ("true or false", unquote_remedy),
    "knowledge": ('a list of graphs such as {"qid": "Q90", "country": "France"}', _list_remedy),
    "knowledge[]": ('a graph such as {"qid": "Q90", "country": "France"}', _text_remedy),
    "knowledge[].*": ("a str, a number, a bool or a list of these", _text_remedy),
    "gold_knowledge": (_TRIPLES, _list_remedy),
    "gold_knowledge[]": ("a list of three: [qid, property, value]", _list_remedy),
    "gold_knowledge[][]": ("a str or a number", _text_remedy),
    "human": ('an object of numbers such as {"faithful": 1}', _label_remedy),
    "human.*": ("a finite number, or true or false", _number_remedy),
    "model": ("a str", _text_remedy),
    "group": ("a str", _text_remedy),
    "meta": ("an object such as {…}", _no_remedy),
}
NO_FIELD = "no such field"
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
        found = f"{NO_FIELD} in {found}"
        path = f"{path}.{missing[1]}" if path else missing[1]
        kind = f"{kind}.{missing[1]}" if kind else missing[1]
        value = None
    expected, remedy = _EXPECTED.get(kind.replace("absent_", "gold_"), ("a str", _text_remedy))
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
