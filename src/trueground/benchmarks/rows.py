"""Read and check the rows of a benchmark's files, declared as a Struct.

    class NqRow(DataRow):
        id: Annotated[Label, named("qid", "id")]
        question: Text
        answers: Annotated[Texts, named("answers", "answer")]

    rows = RowFiles(NqRow, files)  # can be iterated more than once

Each error names the location, the field, the value and what was expected. Checks that need several
fields, such as that the answer is one of the choices, are made by the Struct's `__post_init__`. It
raises Problem(field, found, expected).
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
# Fields of this type accept an int and convert it to text.
_LABEL = "a str or an int"
Label = Annotated[str, Meta(pattern=r"\S", description=_LABEL)]
# Fields of this type accept a single text and convert it to a list.
_TEXTS = "a list of str, or one str"
Texts = Annotated[list[Text], Meta(min_length=1, description=_TEXTS)]
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_TYPE_LABELS = {"str": "a str", "int": "an int", "bool": "true or false", "array": "a list"}


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
            hint: Text that is appended to every error message.

        Raises:
            InputError: A field is missing or wrong.
        """
        fields = _fields(cls)
        values: dict[str, Any] = {"place": place}
        for field in fields.values():
            value = next((row[name] for name in field.names if row.get(name) is not None), None)
            if value is not None:
                values[field.name] = field.normalize(value)
        try:
            return msgspec.convert(values, cls)
        except Problem as raised:
            problem = raised
        except msgspec.ValidationError as error:
            problem = _explain(fields, values, row, str(error))
        id_ = values.get("id")
        if isinstance(id_, str) and problem.field not in fields["id"].names:
            place = f"{place} (id {id_!r})"
        raise InputError(f"{problem.message(place)}{hint}") from None


class _Named(Protocol):
    @property
    def place(self) -> str: ...

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=DataRow)
N = TypeVar("N", bound=_Named)


def named(*names: str) -> Meta:
    """Return an annotation with the names that a field may have in a file.

    Args:
        names: The names. The first one that a row has is read.

    Example:
        >>> named("qid", "id").extra
        {'names': ('qid', 'id')}
    """
    return Meta(extra={"names": names})


class RowFiles(Generic[R]):
    """Rows of data files, in order. Each iteration reads the files again.

    The first iteration checks all rows before it yields one.

    Args:
        kind: The type of the rows.
        files: The files to read.
        what: The name of the rows for error messages.
        hint: Text that is appended to the error messages of rows.

    Raises:
        InputError: A row is invalid, an id occurs twice, or there are no rows.
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
        """Check the rows, and yield them for further checks of the caller."""
        count = 0
        rows = self._read()
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
        """Yield rows, or objects made from them, in order.

        Raises:
            InputError: An id occurs twice.
        """
        first: dict[str, str] = {}
        for row in rows:
            if row.id in first:
                raise InputError(
                    f"{row.place} (id {row.id!r}): found this id a second time, first in "
                    f"{first[row.id]}; expected unique ids"
                )
            first[row.id] = row.place
            yield row


class _Field(NamedTuple):
    """A field of a Struct: its type, and its possible names in a file."""

    name: str
    type: Any
    names: tuple[str, ...]
    lists: bool
    label: bool
    texts: bool

    def normalize(self, value: Any) -> Any:
        """Convert a value to the type of the field, if files may have another type."""
        kind = type(value)
        if self.lists and kind is str and value.lstrip().startswith("["):
            # A cell of a table can have a list as JSON.
            with suppress(msgspec.MsgspecError):
                value = msgspec.json.decode(value)
        if self.label and kind is int:
            return str(value)
        if self.texts and isinstance(value, str) and value.strip():
            return [value]
        return value


@cache
def _fields(kind: type[DataRow]) -> dict[str, _Field]:
    hints = hints_of(kind, include_extras=True)
    fields = {}
    for name in kind.__struct_fields__:
        if name == "place":
            continue
        type_ = hints[name]
        fields[name] = _Field(
            name,
            type_,
            next((meta.extra["names"] for meta in _metas(type_) if meta.extra), (name,)),
            lists=_element(type_) is not None,
            label=_expected(type_) == _LABEL,
            texts=_is_texts(type_),
        )
    return fields


def _explain(
    fields: dict[str, _Field], values: dict[str, Any], row: Mapping[str, Any], message: str
) -> Problem:
    """Return the Problem of a message of msgspec, with the field's name in the file."""
    reason, _, location = message.partition(" - at `$")
    steps = _STEP.findall(location.rstrip("`"))
    missing = re.fullmatch(r"Object missing required field `(.+)`", reason)
    if missing and not steps:
        field = fields[missing[1]]
        expected = _expected(field.type) or "a value"
        empty = next((name for name in field.names if name in row), None)
        if empty is not None:
            return Problem(empty, "null", expected)
        return Problem(" or ".join(field.names), f"no such field in {describe(row)}", expected)
    field = fields[steps[0][0]]
    value, type_ = values[field.name], field.type
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
        match = re.search(r"Expected `([\w |]+)`", reason)
        types = [name for name in match[1].split(" | ") if name != "null"] if match else []
        expected = " or ".join(_TYPE_LABELS.get(name, f"an {name}") for name in types) or reason
    return Problem(path, describe(value), expected)


def _metas(type_: Any) -> list[Meta]:
    if get_origin(type_) is not Annotated:
        return []
    return [meta for meta in type_.__metadata__ if isinstance(meta, Meta)]


def _expected(type_: Any) -> str:
    """Return the description of a type, or "" without one."""
    descriptions = [meta.description for meta in _metas(type_) if meta.description]
    if not descriptions and get_origin(type_) in (Union, UnionType):
        members = [member for member in get_args(type_) if member is not NoneType]
        return _expected(members[0]) if len(members) == 1 else ""
    return descriptions[-1] if descriptions else ""


def _is_texts(type_: Any) -> bool:
    """Return whether a type is `Texts`, or `Texts` with other alternatives."""
    if _expected(type_) == _TEXTS:
        return True
    nested = (arg for arg in get_args(type_) if get_origin(arg) in (Annotated, Union, UnionType))
    return any(_is_texts(arg) for arg in nested)


def _members(type_: Any) -> Iterator[Any]:
    """Yield the members of a union, or the type itself, without annotations."""
    if get_origin(type_) is Annotated:
        yield from _members(get_args(type_)[0])
    elif get_args(type_) and get_origin(type_) not in (list, tuple, dict):
        for member in get_args(type_):
            yield from _members(member)
    else:
        yield type_


def _element(type_: Any) -> Any:
    """Return the type of the elements of a list. None if the type isn't a list."""
    lists = (member for member in _members(type_) if get_origin(member) in (list, tuple))
    return next((get_args(member)[0] for member in lists), None)


def _member(type_: Any, name: str) -> Any:
    """Return the type of a field of a Struct. None if the type has no such field."""
    for member in _members(type_):
        is_struct = isinstance(member, type) and issubclass(member, msgspec.Struct)
        if is_struct and name in member.__struct_fields__:
            return hints_of(member, include_extras=True)[name]
    return None
