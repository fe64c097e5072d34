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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints as hints_of,
)

import msgspec
from msgspec import Meta

from trueground.errors import InputError
from trueground.records import DataPath, Problem, describe

Text = Annotated[str, Meta(pattern=r"\S", description="a str that is not blank")]
# An int is read as text.
_LABEL = "a str or an int"
Label = Annotated[str, Meta(pattern=r"\S", description=_LABEL)]
# One text is read as a list of one.
_TEXTS = "a list of str, or one str"
Texts = Annotated[list[Text], Meta(min_length=1, description=_TEXTS)]
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_WORDS = {"str": "a str", "int": "an int", "bool": "true or false", "array": "a list"}


class DataRow(msgspec.Struct, kw_only=True):
    """A row of a file.

    Attributes:
        place: Where the row is, such as `a.jsonl, line 3`.
    """

    place: str

    @classmethod
    def read(cls, place: str, row: Mapping[str, Any], hint: str = "") -> Self:
        """Return a row of this type. Unknown fields are skipped.

        Args:
            place: Where the row is.
            row: The fields of the row.
            hint: Text behind every error message.

        Raises:
            InputError: A field is missing or wrong.
        """
        fields = _fields(cls)
        found: dict[str, Any] = {"place": place}
        for field in fields.values():
            value = next((row[n] for n in field.names if row.get(n) is not None), None)
            if value is not None:
                found[field.name] = field.normalize(value)
        try:
            return msgspec.convert(found, cls)
        except Problem as raised:
            problem = raised
        except msgspec.ValidationError as error:
            problem = _explain(fields, found, row, str(error))
        known = found.get("id")
        if isinstance(known, str) and problem.field not in fields["id"].names:
            place = f"{place} (id {known!r})"
        raise InputError(f"{problem.message(place)}{hint}") from None


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
        for row in self.check_unique(rows) if "id" in _fields(self._kind) else rows:
            count += 1
            yield row
        if not count:
            what = f" for {self._what}" if self._what else ""
            raise InputError(f"{', '.join(map(str, self.files))}: found no rows{what}")
        self.checked = True

    def _read(self) -> Iterator[Any]:
        for file in self.files:
            for place, row in DataPath(file).rows():
                yield self._kind.read(place, row, self._hint)

    @staticmethod
    def check_unique(rows: Iterable[N]) -> Iterator[N]:
        """Yield rows, or what was made of them, as they come.

        Raises:
            InputError: An id occurs a second time.
        """
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
    texts: bool

    def normalize(self, value: Any) -> Any:
        """Return a value in the type of the field, if a file may have it in another one."""
        given = type(value)
        if self.lists and given is str and value.lstrip().startswith("["):
            with suppress(msgspec.MsgspecError):  # a cell of a table may hold a list as JSON
                value = msgspec.json.decode(value)
        if self.label and given is int:
            return str(value)
        if self.texts and isinstance(value, str) and value.strip():
            return [value]
        return value


@cache
def _fields(kind: type[DataRow]) -> dict[str, _Field]:
    hints = hints_of(kind, include_extras=True)
    found = {}
    for name in (name for name in kind.__struct_fields__ if name != "place"):
        metas = [one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, Meta)]
        names = next((one.extra["names"] for one in metas if one.extra), (name,))
        lists, label = _element(hints[name]) is not None, _expected(hints[name]) == _LABEL
        found[name] = _Field(name, hints[name], names, lists, label, _is_texts(hints[name]))
    return found


def _explain(
    fields: dict[str, _Field], found: dict[str, Any], row: Mapping[str, Any], message: str
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
    if not expected and field.texts:
        expected = _TEXTS
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


def _is_texts(type_: Any) -> bool:
    """Return whether a type is `Texts`, or `Texts` with other alternatives."""
    return _expected(type_) == _TEXTS or any(
        get_origin(each) in (Annotated, Union, UnionType) and _is_texts(each)
        for each in get_args(type_)
    )


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
