"""Columns by name: users' own names, and other tools', → the fields of a record; breakdown fields.

A column of another name is read as ours where nothing else could be meant: the file has no column
of our name, no other alias of that field, and at least one value of the right shape. Capitals, and
what stands between words, do not matter: `User Input` is `user_input`. In a mapping `human.NAME` is
a label, `response_b` the second response of a pair, kept in `meta`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from trueground.errors import UsageError, unknown_name
from trueground.options import split_pair
from trueground.records.problems import (
    FIELDS,
    Problem,
    describe,
    shorten,
    unquote_remedy,
    unwrap_passage,
)
from trueground.types import Record

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


OWN_FIELDS = ("model", "group", "answerable")
_HUMAN = "human."
_OTHER = "response_b"
_NAMES_KEPT = 10_000
_LABEL_EXPECTED = "a finite number, or true or false (an empty cell is no label)"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_FLAGS = {"true": 1.0, "false": 0.0}


def look_up(row: dict[str, Any], name: str) -> tuple[bool, Any]:
    """Is the name there, and its value; a dotted name descends where no key is called so."""
    if name in row:
        return True, row[name]
    head, dot, rest = name.partition(".")
    while dot:
        inner = row.get(head)
        if isinstance(inner, dict):
            present, value = look_up(inner, rest)
            if present:
                return True, value
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return False, None


def field_text(record: Record, field: str) -> str | None:
    """A field of the record, or a key of `meta` (dots go deeper); None where it is absent.

    Strings as they are, everything else as JSON.
    """
    if field in OWN_FIELDS:
        value = getattr(record, field)
    else:
        value = look_up(record.meta or {}, field.removeprefix("meta."))[1]
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def is_known(field: str, breakdowns: Iterable[str]) -> bool:
    """Whether a field, or the `meta` key that it goes into, is among these."""
    known = set(breakdowns)
    name = f"meta.{field.removeprefix('meta.')}"
    return field in known or any(name == k or name.startswith(f"{k}.") for k in known)


def parse_mapping(text: str) -> dict[str, str]:
    """`"question=query,contexts=docs"` → `{"question": "query", "contexts": "docs"}`.

    Beside the fields of a record there are `human.NAME`, a label, and `response_b`. UsageError: a
    part without `=`, an empty side, a field that does not exist or stands twice.
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        field, column = split_pair(
            f"the mapping {text!r}:",
            part,
            "FIELD=COLUMN,FIELD=COLUMN, for example question=query,contexts=docs",
        )
        if field in mapping:
            raise UsageError(f"the mapping {text!r} names the field {field!r} twice")
        mapping[field] = column
    check_fields(mapping)
    return mapping


def check_fields(names: Iterable[str]) -> None:
    """UsageError for a name that is no field of a record, no `human.NAME`, no `response_b`."""
    for name in names:
        if name == _HUMAN:
            raise UsageError(
                "the mapping names no label after 'human.'; write human.NAME=COLUMN, for example "
                "human.faithful=score"
            )
        if name not in FIELDS and not _is_member(name):
            raise unknown_name("field", name, FIELDS | {f"{_HUMAN}NAME", _OTHER})


def _is_member(name: str) -> bool:
    """Is this, in a mapping, no field but a member of one?"""
    return name == _OTHER or name.startswith(_HUMAN)


class ColumnMap:
    """What the columns of one file stand for: as the user maps them, else by their names.

    `aliases` are the columns read under the field's name, `doubtful` those that could each be it.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self.mapping = dict(mapping)
        self.aliases: dict[str, str] = {}
        self.doubtful: dict[str, list[str]] = {}
        self.shapes = ColumnShapes()
        self.seen: set[str] = set()  # mapped fields whose column stood in some row
        self._present: set[str] = set()
        self._known: set[str] = set()  # columns that need no second look

    def column(self, field: str) -> str:
        """The column that holds the field."""
        return self.mapping.get(field) or self.aliases.get(field, field)

    def add(self, row: Mapping[str, Any]) -> None:
        """Note which columns there are; `settle` decides."""
        if self.shapes.rows < ROWS_REMEMBERED:
            self.shapes.add(row)
        for name in row.keys() - self._known:
            plain = plain_column(name)
            if plain not in WATCHED:
                if len(self._known) < _NAMES_KEPT:
                    self._known.add(name)
            elif fits(plain, row[name]):
                self._known.add(name)
                self._present.add(name)

    def settle(self) -> bool:
        """Decide by the rows so far what columns stand for; False where that is as it was."""
        before = self.aliases
        self.aliases, self.doubtful = choose_columns(self._present, self.mapping)
        return self.aliases != before

    def describe(self) -> str:
        """Which columns are read under another name, and which could be but are not."""
        return format_columns(self.aliases, self.doubtful, self._present)

    def update(self, other: ColumnMap) -> None:
        """Add what rows behind these have shown; `settle` decides."""
        self.seen |= other.seen
        self._present |= other._present

    def apply(self, row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """(row under our names, fields that mapped columns displaced, members of fields).

        The members are values of `human.NAME` and `response_b` as they stand in the columns; see
        `place_members`.
        """
        if not row.keys() <= self._known or self.shapes.rows < ROWS_REMEMBERED:
            self.add(row)
        for field, column in self.aliases.items():
            if (value := row.pop(column, None)) is not None:
                row[field] = value
        if not self.mapping:
            return row, {}, {}
        mapped: dict[str, Any] = {}
        for field, column in self.mapping.items():
            present, value = look_up(row, column)
            if present:
                mapped[field] = value
                self.seen.add(field)
        consumed = set(self.mapping.values())
        rest = {name: value for name, value in row.items() if name not in consumed}
        members = {name: mapped.pop(name) for name in list(mapped) if _is_member(name)}
        displaced = {name: rest.pop(name) for name in mapped if name in rest}
        return rest | mapped, displaced, members

    def hint(self, field: str) -> str | None:
        """The column that could be the field, and what to type; None: settled, or none is."""
        if self.column(field) != field or field in self._present:
            return None
        taken = {*self.mapping.values(), *self.aliases.values(), *FIELDS}
        return self.shapes.hint(field, taken, self.doubtful.get(field, ()))

    def place_members(self, row: dict[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
        """Puts mapped members where they belong in the row; returns the labels they displace.

        Problem: a label that is no number.
        """
        displaced: dict[str, Any] = {}
        for name, value in members.items():
            if name == _OTHER:
                # What a row's own meta says wins over unknown fields, and the mapping over both.
                if isinstance(row.get("meta") or {}, dict):
                    row["meta"] = (row.get("meta") or {}) | {_OTHER: value}
                continue
            label = _read_label(value, name, self.mapping[name])
            human = row.get("human")
            if human is not None and not isinstance(human, dict):
                continue  # the schema of records says what is wrong with it
            human = dict(human or {})
            old = human.pop(name.removeprefix(_HUMAN), None)
            if old is not None and old != label:
                displaced[name] = old
            if label is not None:
                human[name.removeprefix(_HUMAN)] = label
            row["human"] = human or None
        return displaced


def _read_label(value: Any, name: str, column: str) -> float | None:
    """A cell as a number, None where it is empty. Problem: anything else."""
    number: float | None = None
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        number = _FLAGS.get(text.lower())
        if number is None and _NUMBER.fullmatch(text):
            number = float(text)
    elif value is None:
        return None
    elif isinstance(value, bool | int | float):
        try:
            number = float(value)
        except OverflowError:
            number = None
    if number is None or not isfinite(number):
        remedy = "; write 1 for yes and 0 for no, or leave the cell empty"
        if isinstance(value, dict):
            key = shorten(str(next(iter(value), "KEY")), 30)
            remedy = f"; name what is in it with a dot: --map {name}={shorten(column)}.{key}"
        elif isinstance(value, str):
            remedy = unquote_remedy(value) or remedy
            if _NUMBER.fullmatch(plain := value.strip().replace(",", ".", 1)):
                remedy = f"; write {shorten(plain)}"
        found = f"{describe(value)} in the column {shorten(column)!r}"
        raise Problem(name, found, f"{_LABEL_EXPECTED}{remedy}")
    return number
