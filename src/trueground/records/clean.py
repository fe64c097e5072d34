"""Values of any origin → plain JSON values; and refuses what no record may hold.

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

from trueground.records.problems import Problem

_LARGEST_BITS = 10_000  # Python refuses to print integers of more than about 14,000 bits
_MISSING_TYPES = {"NaTType", "NAType"}


def absent(value: Any) -> bool:
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
        return {clean_text(str(k), path): clean(v, join(path, str(k))) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, f"{path}[{i}]") for i, item in enumerate(value)]
    return clean(_plain(value, path), path)


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


def join(path: str, key: str) -> str:
    """The path of a member of an object."""
    return f"{path}.{key}" if path else key


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, msgspec.Struct):
        return {k: v for k, v in msgspec.structs.asdict(value).items() if v is not None}
    if type(value).__name__ in _MISSING_TYPES:
        return None
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    raise Problem(path, f"a Python {type(value).__name__}", "str, number, bool, list, dict or None")
