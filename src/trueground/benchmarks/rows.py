"""Rows of a benchmark's files: a Struct says what a row is, one reader checks and converts.

    class NqRow(DataRow):
        id: Annotated[Label, named("qid", "id")]
        question: Text
        answers: Annotated[Texts, named("answers", "answer")]

    rows = RowFiles(NqRow, files)  # can be gone through again and again

Each error names the place, the field, what was found and what was expected. What one field cannot
say by itself (an answer that is none of the choices) the Struct's `__post_init__` checks: it raises
Problem(field, found, expected).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints as hints_of,
)

import msgspec
from msgspec import Meta

from trueground.errors import InputError
from trueground.records import DataPath, Problem, describe, to_record
from trueground.types import Record

PlacedRows = Iterable[tuple[str, dict[str, Any]]]
Text = Annotated[str, Meta(pattern=r"\S", description="a str that is not blank")]
# An int is read as text.
_LABEL = "a str or an int"
Label = Annotated[str, Meta(pattern=r"\S", description=_LABEL)]
Texts = Annotated[
    Annotated[list[Text], Meta(min_length=1)] | Text, Meta(description="a list of str, or one str")
]
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_WORDS = {"str": "a str", "int": "an int", "bool": "true or false", "array": "a list"}
# What is said of an answer that another model gave.
_OF_ANSWERS = ("response", "response_facts", "model", "human", "failure")


class DataRow(msgspec.Struct, kw_only=True):
    """A row of a file; `place` is where it stands, such as `a.jsonl, line 3`."""

    place: str


class _Named(Protocol):
    @property
    def place(self) -> str: ...

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=DataRow)
N = TypeVar("N", bound=_Named)


def named(*names: str) -> Meta:
    """For a field's annotation: the names under which it may stand; the first that is there."""
    return Meta(extra={"names": names})


def texts_of(texts: list[str] | str) -> tuple[str, ...]:
    """What a field of `Texts` holds, as a list."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


class RowFiles(Generic[R]):
    """The rows of data files in their order, read anew each time that they are gone through.

    Before the first one is given out all are checked. InputError: a row that is wrong, an id that
    occurs twice, no row at all. `what` says whose rows they are, `hint` is said with every error.
    """

    def __init__(
        self, kind: type[R], files: Sequence[Path], *, what: str = "", hint: str = ""
    ) -> None:
        self._kind, self.files, self._what, self._hint = kind, files, what, hint
        self.checked = False

    def __iter__(self) -> Iterator[R]:
        if not self.checked:
            for _ in self.check():
                pass
        return self._read()

    def check(self) -> Iterator[R]:
        """The rows while they are checked, for callers with a check of their own."""
        count, rows = 0, self._read()
        for row in check_unique(rows) if "id" in _fields(self._kind) else rows:
            count += 1
            yield row
        if not count:
            what = f" for {self._what}" if self._what else ""
            raise InputError(f"{', '.join(map(str, self.files))}: found no rows{what}")
        self.checked = True

    def _read(self) -> Iterator[Any]:
        for file in self.files:
            for place, row in DataPath(file).rows():
                yield read_row(self._kind, place, row, self._hint)


def read_row(kind: type[R], place: str, row: dict[str, Any], hint: str = "") -> R:
    """One row. InputError: a field that is missing or wrong. Unknown fields are passed over."""
    fields = _fields(kind)
    found: dict[str, Any] = {"place": place}
    for field in fields.values():
        for name in field.names:
            value = row.get(name)
            if value is not None:
                break
        else:
            continue
        given = type(value)
        if field.lists and given is str and value.lstrip().startswith("["):
            with suppress(msgspec.MsgspecError):  # a cell of a table may hold a list as JSON
                value = msgspec.json.decode(value)
        elif field.label and given is int:
            value = str(value)
        found[field.name] = value
    try:
        return msgspec.convert(found, kind)
    except Problem as problem:
        told = problem
    except msgspec.ValidationError as error:
        told = _explain(fields, found, row, str(error))
    known = found.get("id")
    if isinstance(known, str) and told.field not in fields["id"].names:
        place = f"{place} (id {known!r})"
    raise InputError(f"{told.message(place)}{hint}") from None


def read_question(place: str, row: dict[str, Any], number: int, *without: str) -> Record:
    """A user's own question as a record without a response; `without` are fields to pass over.

    `number` is the id of a row that has none. InputError.
    """
    skipped = (*_OF_ANSWERS, *without)
    asked = {name: value for name, value in row.items() if name not in skipped}
    try:
        return to_record({**asked, "response": ""}, None, number)
    except Problem as problem:
        raise InputError(problem.message(place)) from None


def check_unique(rows: Iterable[N]) -> Iterator[N]:
    """The rows as they come. InputError: an id that occurs a second time."""
    first: dict[str, str] = {}
    for row in rows:
        if row.id in first:
            raise InputError(
                f"{row.place} (id {row.id!r}): found this id a second time, first in "
                f"{first[row.id]}; expected ids that are unique"
            )
        first[row.id] = row.place
        yield row


class _Field(NamedTuple):
    """A field of a Struct: its type, and the names that it may have in a file."""

    name: str
    type: Any
    names: tuple[str, ...]
    lists: bool
    label: bool


@cache
def _fields(kind: type[DataRow]) -> dict[str, _Field]:
    hints = hints_of(kind, include_extras=True)
    found = {}
    for name in (name for name in kind.__struct_fields__ if name != "place"):
        metas = [one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, Meta)]
        names = next((one.extra["names"] for one in metas if one.extra), (name,))
        lists, label = _element(hints[name]) is not None, _expected(hints[name]) == _LABEL
        found[name] = _Field(name, hints[name], names, lists, label)
    return found


def _explain(
    fields: dict[str, _Field], found: dict[str, Any], row: dict[str, Any], message: str
) -> Problem:
    """The Problem behind msgspec's message: the field as the file names it, value, expectation."""
    words, _, where = message.partition(" - at `$")
    steps = _STEP.findall(where.rstrip("`"))
    missing = re.fullmatch(r"Object missing required field `(.+)`", words)
    if missing and not steps:
        field = fields[missing[1]]
        expected = _expected(field.type) or "a value"
        empty = next((name for name in field.names if name in row), None)
        if empty is not None:
            return Problem(empty, "null", expected)
        return Problem(" or ".join(field.names), f"no such field in {describe(row)}", expected)
    field = fields[steps[0][0]]
    value, type_ = found[field.name], field.type
    path = next(name for name in field.names if row.get(name) is not None)
    expected = _expected(type_)
    for name, index in steps[1:]:
        if name:
            path, value, type_ = f"{path}.{name}", value[name], _member(type_, name)
        else:
            path, value, type_ = f"{path}[{index}]", value[int(index)], _element(type_)
        expected = _expected(type_) or expected
    if missing:
        return Problem(f"{path}.{missing[1]}", f"no such field in {describe(value)}", "a value")
    if not expected:
        types = re.search(r"Expected `([\w |]+)`", words)
        wanted = [one for one in types[1].split(" | ") if one != "null"] if types else []
        expected = " or ".join(_WORDS.get(one, f"an {one}") for one in wanted) or words
    return Problem(path, describe(value), expected)


def _expected(type_: Any) -> str:
    """What a type's description says; "" where it has none."""
    metas = [one for one in getattr(type_, "__metadata__", ()) if isinstance(one, Meta)]
    inner = [one for one in get_args(type_) if one is not NoneType]
    if not any(one.description for one in metas) and get_origin(type_) in (Union, UnionType):
        return _expected(inner[0]) if len(inner) == 1 else ""
    return next((one.description for one in reversed(metas) if one.description), "")


def _members(type_: Any) -> Iterator[Any]:
    """The type itself, without annotations, or the members of a union."""
    if get_origin(type_) is Annotated:
        yield from _members(get_args(type_)[0])
    elif get_args(type_) and get_origin(type_) not in (list, tuple, dict):
        for one in get_args(type_):
            yield from _members(one)
    else:
        yield type_


def _element(type_: Any) -> Any:
    """The type of the elements of a list; None where the type allows none."""
    lists = (one for one in _members(type_) if get_origin(one) in (list, tuple))
    return next((get_args(one)[0] for one in lists), None)


def _member(type_: Any, name: str) -> Any:
    for one in _members(type_):
        if name in getattr(one, "__struct_fields__", ()):
            return hints_of(one, include_extras=True)[name]
    return None


def list_ids(ids: Sequence[str], most: int = 5) -> str:
    """The first of these ids, for a sentence."""
    return ", ".join(map(repr, ids[:most])) + (", …" if len(ids) > most else "")


def read_entries(
    path: Path, expected: str = "a JSON object with an entry a question"
) -> dict[str, Any]:
    """The members of the one JSON object that a file holds, in their order.

    InputError: unreadable, no object or an empty one, an entry twice.
    """
    found: dict[str, Any] = {}
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        if stream.peek(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
            raise InputError(f"{path}: found no JSON object; expected {expected}")
        for key, value in stream.members():
            if key in found:
                raise InputError(f"{path}: found the entry {key!r} twice; expected it once")
            found[key] = value
    if not found:
        raise InputError(f"{path}: found an empty object; expected {expected}")
    return found
