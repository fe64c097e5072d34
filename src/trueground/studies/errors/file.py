"""errors.jsonl: one line for each item, with a category that a person can correct."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground.errors import InputError, OutputError, unknown_name
from trueground.judges.comparing.error_category import CATEGORIES
from trueground.runs.directory import replacing
from trueground.types import Status

# A person may leave the kind open.
GROUPS = tuple(dict.fromkeys(c.partition("/")[0] for c in CATEGORIES if "/" in c))
ALLOWED = (*CATEGORIES, *GROUPS)
_SAME = ("question", "references", "response")
_NAMED = 3


class Line(msgspec.Struct, kw_only=True):
    """One item. `category` is a person's; while it is null, what was `proposed` counts.

    `proposed` is null where `status` is not `scored`; `reply` is then the model's raw reply.
    `by` is who proposed, `correct_by` who found the response correct. `selected` is False for an
    item that a person wrote something into, and that is no longer among the correct ones with a low
    F1.
    """

    id: str
    question: str | None
    references: list[str]
    response: str
    f1: float | None
    recall: float | None
    correct_by: str
    proposed: str | None
    by: str
    reason: str | None
    evidence: str | None = None
    category: str | None = None
    status: Status = Status.SCORED
    reply: str | None = None
    history: list[str] = []
    task: str | None = None
    selected: bool = True
    metric: str = "f1"
    score: float | None = None

    @property
    def counts(self) -> str | None:
        """The category that counts: a person's, else the proposed one."""
        return self.category or self.proposed


Read = list[tuple[Line, dict[str, Any]]]


def read_file(path: Path) -> Read:
    """The lines, each with all of its fields, those of people's own too. Raises InputError."""
    found: Read = []
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            made = msgspec.convert(fields, Line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}, line {number}: {error}; expected a line such as `trueground errors RUN` "
                "writes, with nothing changed but `category`"
            ) from None
        if made.category is not None and made.category not in ALLOWED:
            told = unknown_name("category", made.category, ALLOWED)
            raise InputError(f"{path}, line {number} (id {made.id!r}): {told}")
        found.append((made, fields))
    twice = _twice(line.id for line, _ in found)
    if twice is not None:
        raise InputError(f"{path}: the id {twice!r} comes twice; leave one line of each")
    return found


def _twice(ids: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((i for i in ids if i in seen or seen.add(i)), None)  # type: ignore[func-returns-value]


def merge(path: Path, lines: list[Line], old: Read) -> list[dict[str, Any]]:
    """The new lines with people's categories and own fields.

    Lines that are not among the new ones come last, where people wrote something into them.
    OutputError where they wrote of another answer than the one that stands there now.
    """
    before = {line.id: (line, fields) for line, fields in old}
    changed = [
        line.id
        for line in lines
        if line.id in before
        and _touched(*before[line.id])
        and any(getattr(line, f) != getattr(before[line.id][0], f) for f in _SAME)
    ]
    if changed:
        shown = ", ".join(changed[:_NAMED]) + (" …" if len(changed) > _NAMED else "")
        raise OutputError(
            f"{path} holds what people wrote of other answers than this run's "
            f"({len(changed):,}: {shown}), so it stays as it is; choose another --out"
        )
    merged = []
    for line in lines:
        fields = msgspec.to_builtins(line)
        if line.id in before:
            kept, own = before[line.id]
            fields |= {name: value for name, value in own.items() if name not in fields}
            fields["category"] = kept.category
        merged.append(fields)
    now = {line.id for line in lines}
    left = [own for line, own in old if line.id not in now and _touched(line, own)]
    return merged + [own | {"selected": False} for own in left]


def _touched(line: Line, fields: dict[str, Any]) -> bool:
    """Whether a person gave a category, or a field that is not ours."""
    return bool(line.category) or not fields.keys() <= set(Line.__struct_fields__)


def write_file(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Replace the file as a whole. Raises WriteError."""
    with replacing(path) as out:
        for row in rows:
            out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
