"""One row of a dataset, read field by field; each error names place, field, found, expected."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson

from trueground.errors import InputError
from trueground.records.problems import describe


class QaFields:
    """A row; `hint` is said at the end of every error."""

    def __init__(self, place: str, row: dict[str, Any], hint: str = "") -> None:
        self.place, self.row, self._hint = place, row, hint

    def text(self, *names: str) -> str:
        """A str that is not blank, under the first of the names that is there."""
        name, value = self.value("a str", *names)
        return self.as_text(name, value)

    def maybe(self, name: str) -> str | None:
        """A str, or None where there is none."""
        value = self.row.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, describe(value), "a str, or nothing")
        return value or None

    def label(self, *names: str) -> str:
        """A str or a whole number, as text."""
        name, value = self.value("a str or an int", *names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.as_text(name, value)

    def texts(self, name: str, *, empty: bool = False) -> tuple[str, ...]:
        """A list of str, none of them blank; one str is a list of one. JSON in a cell is read."""
        _, value = self.value("a list of str", name)
        if isinstance(value, str) and value.lstrip().startswith("["):
            with suppress(orjson.JSONDecodeError):
                value = orjson.loads(value)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not (found or empty):
            raise self.wrong(name, describe(value), "a list of str")
        return tuple(self.as_text(f"{name}[{i}]", one) for i, one in enumerate(found))

    def value(self, expected: str, *names: str) -> tuple[str, Any]:
        """The first of the names that is there and not null, with its value."""
        for name in names:
            if self.row.get(name) is not None:
                return name, self.row[name]
        found = "null" if any(name in self.row for name in names) else "no such field"
        raise self.wrong(" or ".join(names), f"{found} in {describe(self.row)}", expected)

    def as_text(self, name: str, value: Any) -> str:
        """The value without white space around it. InputError: no str, or blank."""
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, describe(value), "a str that is not blank")
        return value.strip()

    def wrong(self, field: str, found: str, expected: str) -> InputError:
        """The error to raise."""
        return InputError(
            f"{self.place}, field {field!r}: found {found}; expected {expected}{self._hint}"
        )
