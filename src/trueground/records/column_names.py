"""Names of columns, of users and of other tools, and the fields that they are likely to be.

A column of another name is read as ours where nothing else could be meant: the file has no column
of our name, no other alias of that field, and at least one value of the right shape. Capitals, and
what stands between words, do not matter: `User Input` is `user_input`. In a mapping `human.NAME` is
a label, `response_b` the second response of a pair, kept in `meta`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trueground.records.problems import shorten, unwrap_passage

# Field → its names in ragas, DeepEval, RAGChecker, TruLens, LangChain, LlamaIndex and data sets.
ALIASES: dict[str, tuple[str, ...]] = {
    "question": ("user_input", "query", "prompt", "input"),
    "contexts": (
        "retrieved_contexts",
        "retrieved_context",
        "retrieval_context",
        "context",
        "passages",
        "documents",
        "source_documents",
        "source_nodes",
        "ctxs",
    ),
    "response": (
        "answer",
        "output",
        "prediction",
        "actual_output",
        "completion",
        "prediction_text",
        "result",
    ),
    "references": (
        "reference",
        "reference_answer",
        "ground_truth",
        "ground_truths",
        "expected",
        "expected_output",
        "expected_response",
        "gt_answer",
        "answers",
    ),
}
# Result rows of Instruct-QA's authors: the answer, its id, and a prompt that is no question.
_INSTRUCT_QA = frozenset({"id_", "answer", "prompt"})
WATCHED = frozenset(ALIASES).union(_INSTRUCT_QA, *ALIASES.values())
# These may be something else (a result of a test): the answer only where no other column is it.
_LAST = ("prediction_text", "result")
# DeepEval's test cases have both: what was retrieved, and what should have been.
_RETRIEVED, _IDEAL = "retrieval_context", "context"
_NAMED = {
    "question": "quest|quer|prompt|input|ask|instruct",
    "contexts": "context|ctx|doc|passage|chunk|retriev|source|evidence|snippet|knowledge|article",
    "response": "respon|answer|output|predict|complet|generat|reply|result",
    "references": "refer|truth|gold|expect|target|label|ideal|solution|correct",
}
_LONG = 200  # characters on average: a text that may be a context
ROWS_REMEMBERED = 1000  # whose columns are looked at closely


def plain_column(name: str) -> str:
    """The name as aliases are written: `User Input` is `user_input`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def fits(name: str, value: Any) -> bool:
    """Does the value have a shape that the column can have, if it is what its name says?

    `name` is as `plain_column` gives it.
    """
    if name in ALIASES or name == "id_":
        return value is not None
    if name in ALIASES["question"] or name in ALIASES["response"]:
        return isinstance(value, str)
    if isinstance(value, dict):
        return name == "answers" and _is_texts(value.get("text"))
    return bool(value) and (isinstance(value, str) or _is_texts(value))


def _is_texts(value: Any) -> bool:
    """Is it a list whose first member is a text, or an object that holds one?"""
    first = value[0] if isinstance(value, list | tuple) and value else None
    return isinstance(first, str) or (isinstance(first, dict) and "text" in unwrap_passage(first))


def choose_columns(
    present: set[str], mapping: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """(field → the one column that can be it, field → columns of which each could be it).

    `present` are the watched columns that hold something; what is mapped is settled already.
    """
    chosen: dict[str, str] = {}
    doubtful: dict[str, list[str]] = {}
    free = present.difference(mapping.values())
    theirs = free >= _INSTRUCT_QA and not free & {"response", *mapping}
    if theirs and "id" not in mapping:
        chosen["id"] = "id_"
    for field, aliases in ALIASES.items():
        if field in mapping or field in present:
            continue
        names = {
            name: plain
            for name in sorted(free)
            if (plain := plain_column(name)) in (field, *aliases)
        }
        refused = {"prompt"} if theirs else set()
        if field == "references" and "response" not in chosen.keys() | mapping.keys() | present:
            refused = {"answers"}
        if not names.keys() <= (last := {n for n, plain in names.items() if plain in _LAST}):
            refused |= last
        if {_RETRIEVED, _IDEAL} == set(names.values()):
            refused |= {name for name, plain in names.items() if plain == _IDEAL}
        order = [field, *aliases]
        found = [name for name in names if name not in refused]
        found.sort(key=lambda name: order.index(plain_column(name)))
        if len(found) == 1:
            chosen[field] = found[0]
        elif found:
            doubtful[field] = found
    return chosen, doubtful


def format_columns(
    chosen: Mapping[str, str], doubtful: Mapping[str, Sequence[str]], present: Iterable[str]
) -> str:
    """`contexts ← retrieved_contexts, question ← user_input`, and what was not used."""
    texts = [f"{field} ← {column}" for field, column in sorted(chosen.items())]
    ideal = next((name for name in present if plain_column(name) == _IDEAL), None)
    if ideal and plain_column(chosen.get("contexts", "")) == _RETRIEVED:
        what = f"contexts ← {chosen['contexts']}"
        told = f"{what} ({shorten(ideal)}, what should have been retrieved, is not read)"
        texts = [told if text == what else text for text in texts]
    texts += [
        f"{field} ← none, {' and '.join(columns)} could each be it ({_map_options(field, columns)})"
        for field, columns in sorted(doubtful.items())
    ]
    return ", ".join(texts)


def _map_options(field: str, columns: Iterable[str]) -> str:
    return " or ".join(f"--map {shlex.quote(f'{field}={shorten(c)}')}" for c in columns)


class ColumnShapes:
    """What the columns of the first rows hold: how often texts, lists of texts, and how long."""

    def __init__(self) -> None:
        self.rows = 0
        self._shapes: dict[str, tuple[int, int, int]] = {}

    @property
    def names(self) -> list[str]:
        """The columns, and what is in objects under dotted names."""
        return list(self._shapes)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the columns of a row in."""
        self.rows += 1
        for name, value in row.items():
            self._count(name, value)
            if isinstance(value, dict):
                for inner, one in value.items():
                    self._count(f"{name}.{inner}", one)

    def _count(self, name: str, value: Any) -> None:
        texts, lists, size = self._shapes.get(name, (0, 0, 0))
        if isinstance(value, str) and value:
            written = value[0] == "[" and value[-1] == "]"  # a list in a cell
            texts, lists, size = texts + 1, lists + written, size + len(value)
        elif _is_texts(value):
            texts, lists, size = texts + 1, lists + 1, size + len(str(value[0]))
        self._shapes[name] = (texts, lists, size)

    def hint(self, field: str, taken: Iterable[str], doubtful: Sequence[str] = ()) -> str | None:
        """The likeliest column of a field that none was found for, and the option to type.

        None where no column is like it, by its name or by its shape.
        """
        if doubtful:
            named = " and ".join(repr(shorten(name)) for name in doubtful)
            return f"{named} could each be it; add {_map_options(field, doubtful)}"
        named_so = re.compile(_NAMED[field], re.IGNORECASE)
        ranked = []
        for name, (texts, lists, size) in self._shapes.items():
            if not texts or name in taken or name.partition(".")[0] in taken:
                continue
            listed, mean = lists * 2 > texts, size / texts
            by_shape = field == "contexts" and (listed or mean >= _LONG)
            if named_so.search(name) or by_shape:
                shape = "lists of texts" if listed else "long texts" if mean >= _LONG else "texts"
                ranked.append((bool(named_so.search(name)), by_shape, mean, name, shape))
        if ranked:
            *_, name, shape = max(ranked)
            found = f"the column {shorten(name)!r} holds {shape}"
            return f"{found}; if it is that, add {_map_options(field, [name])}"
        return None
