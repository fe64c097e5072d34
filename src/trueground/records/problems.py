"""What is wrong with one row, in words: what was found, what was expected, how to fix it."""

from __future__ import annotations

import json
from typing import Any

from trueground.errors import BadRow


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


class PlacedRow(BadRow, frozen=True):
    """A bad row whose number counts `unit`s: lines of a text file, rows of anything else."""

    unit: str = "row"

    def __str__(self) -> str:
        return super().__str__().replace(f"{self.file}, row ", f"{self.file}, {self.unit} ", 1)


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
    found = row.get("id") if isinstance(row, dict) else getattr(row, "id", None)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else None


def as_list(value: Any) -> str:
    """The remedy for a lone value where a list belongs: how to write the list."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"; write [{json.dumps(shorten(str(value), 30), ensure_ascii=False)}]"
    return "; write [{…}]" if isinstance(value, dict) else ""


def as_text(value: Any) -> str:
    """The remedy for a number where a text belongs: how to write the text."""
    if isinstance(value, bool):
        return f'; write "{str(value).lower()}"'
    if isinstance(value, int | float):
        return f'; write "{shorten(str(value), 30) if abs(value) < 10**40 else "…"}"'
    return ""


def as_value(value: Any) -> str:
    """The remedy for a quoted number or truth value: write it without quotes."""
    plain = value.strip().lower() if isinstance(value, str) else str(value)
    if plain in {"true", "yes", "1"}:
        return "; write true"
    if plain in {"false", "no", "0"}:
        return "; write false"
    return ""


def as_number(value: Any) -> str:
    """The remedy for a quoted number."""
    try:
        return f"; write {shorten(str(float(value)))}" if isinstance(value, str) else ""
    except ValueError:
        return as_value(value)


def as_label(value: Any) -> str:
    """The remedy for a lone label where an object of labels belongs: its column, under a name."""
    return "; --map human.NAME=COLUMN reads one label from a column, as in human.faithful=score"


def no_remedy(value: Any) -> str:
    """Nothing to suggest beyond what is expected."""
    return ""
