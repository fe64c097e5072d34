"""FaithEval's own files: rows → items, every field checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, UsageError
from trueground.records.files import data_files
from trueground.records.problems import describe
from trueground.records.reading import plain_rows
from trueground.types import Choice

TASKS = ("unanswerable", "inconsistent", "counterfactual")
DATASETS = (
    "BioASQ",
    "DROP",
    "HotpotQA",
    "NQ",
    "NewsQA",
    "RACE",
    "SQuAD",
    "SearchQA",
    "TextbookQA",
    "TriviaQA",
)
_NAMES = {name.lower(): name for name in DATASETS} | {"naturalquestions": "NQ", "tqa": "TextbookQA"}
# What the sources add to a dataset's name: NaturalQuestionsShort, TriviaQA-web, SQuAD1.1.
_ADDITIONS = re.compile(r"(short|web|wiki|wikipedia|dev|test|open|v?\d+)$")


@dataclass(frozen=True)
class FaithEvalRow:
    """One row. `key` is the label of the right choice; `answers` as the file has them."""

    place: str
    id: str
    question: str
    context: str
    dataset: str
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


def task_files(task: str, data: Path | None) -> list[Path]:
    """The files of a task: those named by its name in the folder, the file, or the fetched ones.

    InputError: there is none. UsageError: the file's name names another task.
    """
    if data is None:
        from trueground.benchmarks.datasets import local_files

        return local_files("faitheval", task)
    files = data_files(data)
    if not data.is_dir():
        others = [other for other in TASKS if other != task and other in data.name.lower()]
        if others and task not in data.name.lower():
            raise UsageError(
                f"{data} is named after the task {others[0]}, not {task}; run "
                f"faitheval/{others[0]}, or name a file, or a folder with a file for each task"
            )
        return files
    named = [file for file in files if task in str(file.relative_to(data)).lower()]
    if not named:
        seen = ", ".join(file.name for file in files[:5])
        raise InputError(f"{data} has no file with {task!r} in its name; found {seen}")
    return named


def read_items(files: Sequence[Path], task: str, answers: bool = False) -> Iterator[FaithEvalRow]:
    """Every row in order; with `answers` those of open questions too, where they are a key.

    InputError: a field missing or wrong, an id that occurs twice, no row at all.
    """
    seen: set[str] = set()
    for file in files:
        for place, row in plain_rows(file):
            item = _item(FaithEvalFields(place, row), task, answers)
            if item.id in seen:
                raise InputError(
                    f"{place} (id {item.id!r}): found this id a second time; expected ids that "
                    f"are unique in the task {task}"
                )
            seen.add(item.id)
            yield item
    if not seen:
        raise InputError(f"{', '.join(map(str, files))}: found no rows for the task {task}")


class FaithEvalFields:
    """One row, read field by field; each error names place, id, field, found and expected."""

    def __init__(self, place: str, row: dict[str, Any]) -> None:
        self.place = place
        self.row = row
        self.ids = [str(row[name]) for name in ("qid", "id") if _is_id(row.get(name))]
        if not self.ids:
            raise self._no_id()
        self.id = self.ids[0]

    def text(self, *names: str) -> str:
        """A str that is not blank, under the first of the names that is there."""
        name, value = self._first(names, "a str")
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, describe(value), "a str that is not blank")
        return value

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of str, or one str; a CSV cell may hold the list as JSON."""
        name, value = self._first(names, "a list of str, or one str")
        if isinstance(value, str) and value.lstrip().startswith('["'):
            with suppress(msgspec.MsgspecError):
                value = msgspec.json.decode(value, type=list[str])
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.wrong(name, describe(value), "a list of str, or one str")
        if not texts or not all(text.strip() for text in texts):
            raise self.wrong(name, describe(value), "at least one text, none of them blank")
        return tuple(texts)

    def choices(self) -> tuple[Choice, ...]:
        """The options: a list of {label, text}, or one object of a list of labels and of texts."""
        expected = '[{"label": "A", "text": "…"}] or {"label": ["A"], "text": ["…"]}'
        _, value = self._first(("choices",), expected)
        found = describe(value)
        if isinstance(value, dict):
            labels, texts = value.get("label"), value.get("text")
            if not isinstance(labels, list) or not isinstance(texts, list):
                raise self.wrong("choices", found, expected)
            if len(labels) != len(texts):
                found = f"{len(labels)} labels and {len(texts)} texts"
                raise self.wrong("choices", found, "a text for each label")
            pairs = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
        else:
            pairs = value
        try:
            choices = msgspec.convert(pairs, tuple[Choice, ...])
        except msgspec.ValidationError:
            raise self.wrong("choices", found, expected) from None
        names = [choice.label for choice in choices]
        if len(choices) < 2 or len(set(names)) < len(names):
            found = f"the labels {', '.join(names) or 'none'}"
            raise self.wrong("choices", found, "two or more, each with its own label")
        return choices

    def key(self, choices: Sequence[Choice]) -> str:
        """The label of the right option."""
        key = self.text("answerKey")
        labels = [choice.label for choice in choices]
        if key not in labels:
            raise self.wrong("answerKey", describe(key), f"one of {', '.join(labels)}")
        return key

    def wrong(self, field: str, found: str, expected: str) -> InputError:
        """The error to raise."""
        return InputError(
            f"{self.place} (id {self.id!r}), field {field!r}: found {found}; expected {expected}"
        )

    def _no_id(self) -> InputError:
        found = f"no such field in {describe(self.row)}"
        if {"qid", "id"} & self.row.keys():
            found = describe(self.row.get("qid", self.row.get("id")))
        where = f"{self.place}, field 'qid' or 'id'"
        return InputError(f"{where}: found {found}; expected a str or an int")

    def _first(self, names: Sequence[str], expected: str) -> tuple[str, Any]:
        for name in names:
            if self.row.get(name) is not None:
                return name, self.row[name]
        empty = next((name for name in names if name in self.row), None)
        if empty is not None:
            raise self.wrong(empty, "null", expected)
        raise self.wrong(" or ".join(names), f"no such field in {describe(self.row)}", expected)


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def dataset_name(text: str) -> str:
    """The paper's name of a source dataset; other names as they are."""
    name = re.sub(r"[^a-z0-9]", "", text.lower())
    while name not in _NAMES and (shorter := _ADDITIONS.sub("", name)) != name:
        name = shorter
    return _NAMES.get(name, text)


def _item(fields: FaithEvalFields, task: str, answers: bool) -> FaithEvalRow:
    question, context = fields.text("question"), fields.text("context")
    if task == "counterfactual":
        dataset = fields.text("subset", "dataset") if _named(fields.row) else "ARC-Challenge"
        choices = fields.choices()
        key = fields.key(choices)
        return FaithEvalRow(fields.place, fields.id, question, context, dataset, (), choices, key)
    dataset = dataset_name(fields.text("subset", "dataset"))
    given = fields.texts("answers", "answer") if answers else ()
    return FaithEvalRow(fields.place, fields.id, question, context, dataset, given)


def _named(row: dict[str, Any]) -> bool:
    return row.get("subset") is not None or row.get("dataset") is not None
