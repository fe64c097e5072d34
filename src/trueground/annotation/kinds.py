"""The kinds of tasks; the table is `kinds.toml`, where each is declared and explained."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from trueground.annotation.base import AnnotationTask, LabelDraw
from trueground.annotation.fields import NONE, Field
from trueground.annotation.parts import PARTS, Pairing, TaskPart
from trueground.errors import unknown_name
from trueground.types import Record

# How marks are filled in, for the page of instructions.
_MARKS = f"""

A mark is its type and the words, copied as they stand: `other: the words`. In a spreadsheet write
one a line, `{NONE}` if there is nothing to mark; in JSON lines a list of such texts, or of
`{{"start": 17, "end": 26, "type": "other"}}`: code points of the text, the first is 0, the end not
included. Where the words stand several times, write the place as well: `other @17-26`.
""".rstrip()


class TaskKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of task, as in `kinds.toml`."""

    name: str
    doc: str
    source: str
    shows: dict[str, str]
    fields: tuple[Field, ...]
    instructions: str
    optional: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    label: str = ""
    label_of: Literal["record", "passages", "part"] = "part"

    @property
    def of_records(self) -> bool:
        """Whether tasks are made of records, too, not only by builds."""
        return self.name in PARTS

    @property
    def numbered_lists(self) -> list[str]:
        """The lists that are shown whose numbers are asked for."""
        return list(dict.fromkeys(f.numbers_of for f in self.fields if f.numbers_of))

    @property
    def marked_texts(self) -> list[str]:
        """The texts that are shown in which words are marked."""
        return list(dict.fromkeys(f.text_of for f in self.fields if f.text_of))

    def tasks_of(
        self, record: Record, pairing: Pairing
    ) -> Iterator[tuple[AnnotationTask, TaskPart]]:
        """The tasks of one record with what they ask about. MissingPart where there is none.

        Ids are of the record's own id and of what is shown.
        """
        drawn = LabelDraw.of((record.meta or {}).get("drawn"))
        for part in PARTS[self.name](record, pairing):
            item = f"{record.id}{part.suffix}"
            yield AnnotationTask.of(self.name, item, part.shown, drawn), part

    def vote(self, values: Mapping[str, Any]) -> float | None:
        """What `label` becomes by these values; None where it is open. ValueError: no option."""
        field = self.fields[0]
        value = values.get(field.name)
        if value is None:
            return None
        if field.form == "spans":
            if not isinstance(value, list | tuple):
                raise ValueError
            return float(not value)
        last = len(field.options) - 1
        return (last - field.options.index(value)) / last

    def page(self) -> str:
        """The page of instructions, Markdown: what is shown, and what may be filled in."""
        shown = "\n".join(
            f"- `{name}`: {words}{' (may be absent)' if name in self.optional else ''}"
            for name, words in self.shows.items()
        )
        fields = "\n".join(f"- `{field.name}`: {field.doc}" for field in self.fields)
        several = f" Numbers or words go with spaces between them: `1 3`; `{NONE}` if none applies."
        if self.marked_texts:
            several = _MARKS
        elif all(field.form != "choices" for field in self.fields):
            several = ""
        return f"""# {self.name}: {self.doc}

{self.instructions}
## What you see

{shown}

## What you fill in

{fields}
- `seconds`: how long the task took you, if you know
- `comment`: anything that was hard to decide

In a `.jsonl` file replace the `null` in `answer`; `options` says what may stand there. Several
values are a list: `["1", "3"]`, and `[]` for none. In a spreadsheet write into the empty cells; the
first row says what may stand there.{several}
Change nothing else: the other cells are checked. Leave a task empty if you have not done it.
Save a spreadsheet as "CSV UTF-8". You may put your name in place of the number in `annotator`, in
all rows.

After: {self.source}
"""


_TABLE = Path(__file__).with_suffix(".toml").read_text("utf-8")
KINDS: dict[str, TaskKind] = {
    name: msgspec.convert({**declared, "name": name}, TaskKind)
    for name, declared in tomllib.loads(_TABLE).items()
}


def get_kind(name: str) -> TaskKind:
    """The kind of that name. UsageError where there is none."""
    if name not in KINDS:
        raise unknown_name("kind of task", name, KINDS)
    return KINDS[name]
