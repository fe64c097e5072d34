"""Rows of the users' data files, whatever the format; those that cannot be used tell why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple

from trueground.errors import InputError
from trueground.records import DataPath, Problem, shorten
from trueground.wings.papers.builders.base import Rejected

# Control characters but tab, line feed, form feed, carriage return and next line (0x85), and the
# mark of a broken letter.
ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_WORD = re.compile(r"[^\W_]")
# How the readers name what no text holds.
_BINARY = ("a NUL ", "invalid UTF-8", "a lone surrogate")
Kind = Literal["binary", "blank", "unreadable"]
_SHOWN = 50  # wrong rows that are told together


class Unusable(NamedTuple):
    """A row that is none: no text, nothing in it, or else wrong.

    `found` is the whole sentence with place, what was found and what was expected; `id` is the
    row's own, where it is known.
    """

    kind: Kind
    found: str
    id: str | None


class SourceRow(NamedTuple):
    """A row of a file, by its number there; `place` such as `a.jsonl, line 3` is for people."""

    place: str
    file: Path
    number: int
    value: dict[str, Any] | Unusable


def source_files(paths: Sequence[Path]) -> list[Path]:
    """All data files, each once. InputError: no such path, or a folder without data files."""
    return list(dict.fromkeys(file for path in paths for file in DataPath(path).files()))


def source_rows(files: Sequence[Path], expected: str = "one JSON object") -> Iterator[SourceRow]:
    """All rows of all files in their order. InputError: a file is unreadable.

    `expected` says what a row is, for those that are none.
    """
    for file in files:
        with closing(DataPath(file).numbered_rows(expected)) as rows:
            for place, number, row in rows:
                yield SourceRow(place, file, number, _usable(place, row, expected))


def check_rows(
    files: Sequence[Path],
    found: Sequence[Any],
    wrong: Container[str],
    expected: str,
    what: str = "row",
) -> None:
    """See that no row is `wrong`, by its reason, and that one can be used. InputError.

    `what` they are, and what is `expected` of those that can be used, is said in words.
    """
    rejected = [one for one in found if isinstance(one, Rejected)]
    if bad := [one.detail for one in rejected if one.reason in wrong]:
        listed = "\n".join(shorten(one, 400) for one in bad[:_SHOWN])
        more = f"\n… and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
        raise InputError(
            f"{len(bad):,} wrong row{'s' * (len(bad) > 1)}; fix that, or leave out what is wrong "
            f"with --on-bad-row skip:\n{listed}{more}"
        )
    if len(rejected) == len(found):
        counts = Counter(one.reason for one in rejected).most_common()
        why = ", ".join(f"{n:,} {reason}" for reason, n in counts)
        first = f" ({why}; the first: {rejected[0].detail})" if rejected else ""
        raise InputError(
            f"{', '.join(map(str, files))}: found no {what} that can be used{first}; expected "
            f"{expected}"
        )


def fault(text: str) -> tuple[Kind, str] | None:
    """Why a text cannot be used: (kind, what was found); None where it can.

    "blank" is a text without a letter or digit.
    """
    if odd := ODD.search(text):
        what = "broken letter" if odd[0] == "\ufffd" else "control character"
        return "binary", f"the {what} U+{ord(odd[0]):04X} at character {odd.start() + 1}"
    return None if _WORD.search(text) else ("blank", "no letter or digit")


def _usable(place: str, row: dict[str, Any] | Problem, expected: str) -> dict[str, Any] | Unusable:
    if isinstance(row, Problem):
        kind: Kind = "binary" if row.found.startswith(_BINARY) else "unreadable"
        return Unusable(kind, row.message(place), row.row_id)
    if all(
        value is None or (isinstance(value, str) and not value.strip()) for value in row.values()
    ):
        return Unusable("blank", f"{place}: found nothing in the row; expected {expected}", None)
    return row
