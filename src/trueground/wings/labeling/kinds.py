"""The kinds of tasks, declared in `kinds.toml`, and their fields, each of one of six forms.

All that depends on a form stands here: what may stand in a cell, what is meant by what people
typed, what several people's values make together, and over which numbers agreement is counted.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import msgspec

from trueground.errors import UsageError
from trueground.labels import LabelDraw
from trueground.types import Record
from trueground.wings.labeling.base import BadAnswer, item_of, make_task_id
from trueground.wings.labeling.record_parts import PARTS, Pairing, TaskPart
from trueground.wings.labeling.spans import label_words, merge_marks, read_marks

NONE = "none"  # typed in a spreadsheet where none of several values apply
YES_NO = ("yes", "no")
Tie = Literal["open", "drop", "first", "lowest"]
_LOW, _HIGH = 1, 5  # the ends of a scale
_YES_OR_NO = {
    **dict.fromkeys(("yes", "y", "true", "1"), "yes"),
    **dict.fromkeys(("no", "n", "false", "0"), "no"),
}
# How marks are filled in, for the page of instructions.
_MARKS = f"""

A mark is its type and the words, copied as they stand: `other: the words`. In a spreadsheet write
one a line, `{NONE}` if there is nothing to mark; in JSON lines a list of such texts, or of
`{{"start": 17, "end": 26, "type": "other"}}`: code points of the text, the first is 0, the end not
included. Where the words stand several times, write the place as well: `other @17-26`.
""".rstrip()
_TABLE = Path(__file__).with_suffix(".toml").read_text("utf-8")


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to fill in, as declared in `kinds.toml`.

    In what follows `options` are the values that may be given for one task: the field's own, or the
    numbers of the parts of a list that is shown; of spans the types of marks, and `text` is the
    text that they are of. Values are a text for a choice, a tuple of texts for choices and texts, a
    whole number for a scale, a tuple of SpanMark for spans.
    """

    name: str
    doc: str
    form: Literal["choice", "choices", "scale", "text", "texts", "spans"] = "choice"
    options: tuple[str, ...] = ()
    numbers_of: str = ""
    text_of: str = ""
    ordered: bool = False
    needed: bool = True
    when: tuple[str, str] | None = None

    def is_asked(self, values: Mapping[str, Any]) -> bool:
        """Whether the field is asked, by the answers to the others."""
        return self.when is None or values.get(self.when[0]) == self.when[1]

    def describe(self) -> str:
        """What may stand in a cell, for the first row of a spreadsheet."""
        match self.form:
            case "choice":
                return "|".join(self.options)
            case "choices":
                return "|".join((*(self.options or (f"numbers of {self.numbers_of}",)), NONE))
            case "scale":
                return f"{_LOW} to {_HIGH}"
            case "spans":
                return "|".join((*(f"{option}: the words" for option in self.options), NONE))
            case _:
                return "text" if self.form == "text" else "texts, one per line"

    def describe_expected(self, options: Sequence[str]) -> str:
        match self.form:
            case "choice":
                return " or ".join(options)
            case "choices" if not options:
                return f"{NONE}, because there are no options"
            case "choices" if all(option.isdecimal() for option in options):
                numbers = f"numbers from {options[0]} to {options[-1]}"
                return f"{numbers}, separated by spaces, or {NONE}"
            case "choices":
                return f"some of {', '.join(options)}, or {NONE}"
            case "scale":
                return f"a whole number from {_LOW} to {_HIGH}"
            case "spans":
                return (
                    f"one mark per line, such as `{options[0]}: the words`, or {NONE} (types: "
                    f"{', '.join(options)}); in JSON a list of start, end and type"
                )
            case _:
                return "a text" if self.form == "text" else "texts, one per line"

    def parse(self, options: Sequence[str], raw: Any, text: str = "") -> Any:
        """The value, as JSON has it or as people type it; None: not filled in. BadAnswer."""
        if raw is None or (isinstance(raw, str) and not raw.strip()):
            return None
        word = _word(raw)
        match self.form:
            case "choice":
                if tuple(options) == YES_NO:
                    word = _YES_OR_NO.get(word or "", word)
                if word in options:
                    return word
            case "choices":
                parts = raw if isinstance(raw, list | tuple) else [raw]
                if isinstance(raw, str):
                    parts = re.split(r"[\s,;|/]+", raw.strip(" \t\r\n,;|/[]"))
                    parts = [] if [_word(part) for part in parts] in ([NONE], [""]) else parts
                words = [_word(part) for part in parts]
                if all(one in options for one in words):
                    if len(set(words)) < len(words):  # one of them is a slip for another
                        raise BadAnswer(raw, f"each only once: {self.describe_expected(options)}")
                    return tuple(option for option in options if option in words)
            case "scale":
                if re.fullmatch(r"[0-9]{1,9}", word or "") and _LOW <= int(word or 0) <= _HIGH:
                    return int(word or 0)
            case "text" if isinstance(raw, str):
                return raw.strip()
            case "texts":
                texts = re.split(r"[\r\n;]+", raw) if isinstance(raw, str) else raw
                if isinstance(texts, list | tuple) and all(isinstance(one, str) for one in texts):
                    return _unite(one.strip() for one in texts)
            case "spans":
                marks = re.split(r"[\r\n]+", raw.strip()) if isinstance(raw, str) else raw
                if isinstance(marks, list | tuple):
                    marks = [] if [_word(one) for one in marks] == [NONE] else marks
                    return read_marks(marks, options, text, self.describe_expected(options))
        raise BadAnswer(raw, self.describe_expected(options))

    def merge(
        self, options: Sequence[str], votes: Sequence[Any], tie: Tie, text: str = ""
    ) -> tuple[Any, str]:
        """What the values of several people (one or more) make; None where it is open; and how."""
        first, n = votes[0], len(votes)
        words = (
            self.unit == "word"
        )  # marks of the same words are alike, whatever signs they take in
        if len({tuple(self.rate(options, vote, text)) if words else vote for vote in votes}) == 1:
            return first, "single" if n == 1 else "agreed"
        match self.form:
            case "choice":
                counts = Counter(votes)
                most = max(counts.values())
                leading = [vote for vote in counts if counts[vote] == most]
                if 2 * most > n:
                    return leading[0], "majority"
                if tie == "first":
                    return first, "tie"
                if tie == "lowest" and (self.ordered or self.options == YES_NO):
                    return max(leading, key=options.index), "tie"
                return None, "open"
            case "choices":
                counts = Counter(part for vote in votes for part in vote)
                tied = [option for option in options if 2 * counts[option] == n]
                if tied and tie not in ("first", "lowest"):
                    return None, "open"
                chosen = {option for option in options if 2 * counts[option] > n}
                if tie == "first":
                    chosen.update(option for option in tied if option in first)
                value = tuple(option for option in options if option in chosen)
                return value, "tie" if tied else "majority"
            case "spans":
                marks, open_ = merge_marks(text, options, votes, first if tie == "first" else ())
                if open_ and tie not in ("first", "lowest"):
                    return marks or None, "open"  # the words that are decided are, all the same
                return marks, "tie" if open_ else "majority"
            case "scale":
                return fmean(votes), "mean"
            case "text":
                return first, "first"
            case _:
                return _unite(text for vote in votes for text in vote), "united"

    @property
    def measure(self) -> Literal["nominal", "ordinal", "interval"] | None:
        """How far apart labels are for agreement; None: it is not counted, as of texts."""
        if self.form in ("text", "texts"):
            return None
        return "interval" if self.form == "scale" else "ordinal" if self.ordered else "nominal"

    @property
    def unit(self) -> Literal["task", "part", "word"]:
        """What agreement is counted over: tasks, options of tasks, or words of their text."""
        match self.form:
            case "choices":
                return "part"
            case "spans":
                return "word"
            case _:
                return "task"

    def rate(self, options: Sequence[str], value: Any, text: str = "") -> list[float]:
        """The numbers that agreement is counted over: of choices one for each option, of spans one
        for each word, 0 where it is not marked."""
        if self.form == "choices":
            return [option in value for option in options]
        if self.form == "spans":
            return [*label_words(text, options, value)]
        return [value if self.form == "scale" else options.index(value)]


def _unite(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, of those that differ in case or white space only the first; no empty one."""
    found: dict[str, str] = {}
    for text in texts:
        if key := " ".join(text.casefold().split()):
            found.setdefault(key, text)
    return tuple(found.values())


def _word(raw: Any) -> str | None:
    """The value as a word in small letters; whole numbers without the .0 of spreadsheets."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int | float):
        return str(int(raw)) if abs(raw) < 1e9 and raw == int(raw) else None
    if not isinstance(raw, str):
        return None
    word = " ".join(raw.casefold().split()).strip("'\"")
    return word[:-2] if re.fullmatch(r"[0-9]+[.,]0", word) else word


class AnnotationTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to be labeled: `shown` is what annotators read, by name, as the kind says."""

    kind: str
    id: str
    shown: dict[str, Any]
    drawn: LabelDraw | None = None

    @classmethod
    def of(
        cls, kind: str, item: str, shown: dict[str, Any], drawn: LabelDraw | None = None
    ) -> AnnotationTask:
        """The task of an item. Its id changes with what is shown: no label meets another text."""
        return cls(kind, make_task_id(item, shown), shown, drawn)

    @staticmethod
    def file_names() -> list[str]:
        """Return the names of all files that a folder of tasks may have, one for each kind."""
        return [f"{kind}.jsonl" for kind in KINDS]

    @property
    def required_fields(self) -> tuple[str, ...]:
        """The fields that must be labeled "yes" for the item to be kept."""
        return KINDS[self.kind].keeps

    @property
    def item(self) -> str:
        """The id of the item that it was made of, where `of` made it."""
        return item_of(self.id)


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
        return list(dict.fromkeys(f.numbers_of for f in self.fields if f.numbers_of))

    @property
    def marked_texts(self) -> list[str]:
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


KINDS: dict[str, TaskKind] = {
    name: msgspec.convert({**declared, "name": name}, TaskKind)
    for name, declared in tomllib.loads(_TABLE).items()
}


def get_kind(name: str) -> TaskKind:
    """The kind of that name. UsageError where there is none."""
    if name not in KINDS:
        raise UsageError.unknown_name("kind of task", name, KINDS)
    return KINDS[name]
