"""The dataset's files, in the form of the published ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trueground.benchmarks.truly_ground.source import (
    DISTRACTORS,
    META,
    TEXTS,
    TITLES,
    VERSIONS,
    format_context,
)
from trueground.builders.grounding.distractors import as_passage, sets, title_of
from trueground.builders.grounding.facts.forms import written
from trueground.builders.grounding.instances import Instance
from trueground.builders.grounding.items import Context


def files_of(
    items: Sequence[Instance], passages: Mapping[str, Context], *, distractors: bool
) -> dict[str, bytes]:
    """The files by name; questions are Q0, Q1, … in the order of the items.

    The conflicting version is there where items have one, the file of distractors where it is
    wanted.
    """
    named = list(enumerate(items))
    contents: dict[str, Any] = {
        VERSIONS["original"]: {f"Q{n}": _original(f"Q{n}", item) for n, item in named},
        META: {f"Q{n}": _meta(item) for n, item in named},
        TEXTS: {id_: one.text for id_, one in passages.items()},
        TITLES: {id_: f"Title: {title_of(one)}\n" for id_, one in passages.items()},
    }
    if any(item.conflict is not None for item in items):
        contents[VERSIONS["conflict"]] = {f"Q{n}": _conflict(f"Q{n}", item) for n, item in named}
    if distractors:
        contents[DISTRACTORS] = {
            f"Q{n}": {name: list(map(_context, found)) for name, found in sets(item, passages)}
            for n, item in named
        }
    return {f"{name}.json": _encoded(content) for name, content in contents.items()}


def _original(id_: str, item: Instance) -> dict[str, Any]:
    pair = item.original.pair
    return _entry(id_, pair.question, pair.answers, item.original.gold_texts, pair.contexts)


def _conflict(id_: str, item: Instance) -> dict[str, Any]:
    made = item.conflict
    if made is None:
        return _original(id_, item)
    return _entry(id_, made.question, made.answers, made.gold, made.contexts)


def _entry(
    id_: str,
    question: str,
    answers: Sequence[str],
    facts: Sequence[str],
    contexts: Sequence[Context],
) -> dict[str, Any]:
    return {
        "qId": id_,
        "qText": question,
        "answer": written(answers),
        "atomic_texts": list(facts),
        "context_list": list(map(_context, contexts)),
    }


def _meta(item: Instance) -> dict[str, Any]:
    pair = item.original.pair
    return {
        "has_answer": pair.form == "definite",
        "has_multi": pair.documents == "multi",
        "pop": pair.popularity,
    }


def _context(context: Context) -> str:
    """`Title: X`, a free line, the text."""
    return format_context(as_passage(context))


def _encoded(content: Any) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
