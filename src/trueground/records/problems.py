"""What a row may hold, and what is wrong with one: the value, in words, and where it stands.

Refused anywhere in a row: NaN and infinities, NUL characters, lone surrogates.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

from trueground.errors import BadRow

# What decoding a line may raise; a RecursionError where brackets stand in brackets without end.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_LARGEST_BITS = 10_000  # Python refuses to print integers of more than about 14,000 bits
_MISSING_TYPES = {"NaTType", "NAType"}


class Problem(Exception):  # noqa: N818 - becomes a BadRow, never reaches the user as an exception
    """One row is no record. `field` is a path such as `contexts[2].text`, None for the whole row.

    `row_id` is the row's id where it is known and the row itself is no longer at hand.
    """

    def __init__(
        self, field: str | None, found: str, expected: str, row_id: str | None = None
    ) -> None:
        super().__init__(found)
        self.field = field or None
        self.found = found
        self.expected = expected
        self.row_id = row_id

    def message(self, place: str) -> str:
        """The whole sentence: place, field, what was found and what was expected."""
        where = f"{place}, field {self.field!r}" if self.field else place
        return f"{where}: found {self.found}; expected {self.expected}"


class PlacedRow(BadRow, frozen=True):
    """A bad row whose number counts `unit`s: lines of a text file, rows of anything else."""

    unit: str = "row"

    def __str__(self) -> str:
        return super().__str__().replace(f"{self.file}, row ", f"{self.file}, {self.unit} ", 1)


def too_deep() -> Problem:
    """The Problem of a row that exceeds the depth of recursion."""
    return Problem(None, "lists or objects nested too deeply to read", "fewer levels")


def shorten(text: str, limit: int = 60) -> str:
    """The text on one line that any terminal and encoding can show, cut at `limit` characters."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def describe(value: Any) -> str:
    """A found value in a few words: `int 5`, `str "Paris"`, `list of 3`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"bool {str(value).lower()}"
    if isinstance(value, str):
        return f'str "{shorten(value)}"'
    if isinstance(value, int):
        return f"int {value}" if abs(value) < 10**40 else "an int of more than 40 digits"
    if isinstance(value, float):
        return f"float {value!r}"
    if isinstance(value, list | tuple):
        return f"list of {len(value)}"
    if isinstance(value, dict):
        keys = ", ".join(shorten(str(key), 30) for key in list(value)[:8])
        return f"object {{{keys}{', …' if len(value) > 8 else ''}}}"
    return f"a Python {type(value).__name__}"


def known_id(row: Any) -> str | None:
    """The id of a row that is otherwise wrong, where it has a proper one."""
    value = row.get("id") if isinstance(row, dict) else getattr(row, "id", None)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def is_absent(value: Any) -> bool:
    """Does a data-frame cell hold nothing: None, NaN, NaT or pandas' NA?"""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float) and value != value


def clean(value: Any, path: str = "") -> Any:
    """The value as str, int, float, bool, None, list and dict; `path` is where it stands.

    numpy scalars and arrays, dates, decimals and structs are converted; anything else is a Problem.
    """
    if isinstance(value, str):
        return clean_text(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_BITS:
            raise Problem(path, "a number of thousands of digits", "a number, or a str")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            found = "NaN" if value != value else f"{'-' if value < 0 else ''}Infinity"
            raise Problem(path, found, "a finite number; leave the field out, or write null")
        return float(value)
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        return {clean_text(str(k), path): clean(v, f"{prefix}{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, f"{path}[{i}]") for i, item in enumerate(value)]
    return clean(_as_json(value, path), path)


def clean_text(text: str, path: str) -> str:
    """The text itself; a NUL character or a lone surrogate is a Problem."""
    if "\0" in text:
        raise Problem(
            path, f"a NUL character at character {text.index(chr(0)) + 1}", "text without NUL"
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = f"\\u{ord(text[error.start]):04x}"
            raise Problem(
                path,
                f"a lone surrogate {code} at character {error.start + 1}",
                "whole characters (a pair of surrogates was cut in two)",
            ) from None
    return str(text)


def model_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a pydantic model (other tools' documents and samples) or a data class."""
    if isinstance(value, type):
        return None
    if callable(dump := getattr(value, "model_dump", None)):
        fields = dump()
        return fields if isinstance(fields, dict) else None
    return dict(vars(value)) if hasattr(value, "__dataclass_fields__") else None


def _as_json(value: Any, path: str) -> Any:
    if isinstance(value, msgspec.Struct):
        return {k: v for k, v in msgspec.structs.asdict(value).items() if v is not None}
    if type(value).__name__ in _MISSING_TYPES:
        return None
    if hasattr(value, "tolist"):
        return value.tolist()
    if (fields := model_fields(value)) is not None:
        return fields
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    raise Problem(path, f"a Python {type(value).__name__}", "str, number, bool, list, dict or None")
