"""Rows and files of FaithEval, and its original questions (MRQA and ARC-Challenge)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec

from trueground.benchmarks import DataRow, Label, RowFiles, Text, Texts, get_dataset, named
from trueground.errors import InputError, UsageError
from trueground.records import DataPath, Problem, describe
from trueground.text import Normalizer
from trueground.types import Choice
from trueground.wings.papers.faitheval.studies import TASKS

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
_MAX_LISTED_IDS = 5
_NAMES = {name.lower(): name for name in DATASETS} | {"naturalquestions": "NQ", "tqa": "TextbookQA"}
# Suffixes that sources add to the name of a dataset: NaturalQuestionsShort, TriviaQA-web, SQuAD1.1.
_ADDITIONS = re.compile(r"(short|web|wiki|wikipedia|dev|test|open|v?\d+)$")


class ChoiceLists(msgspec.Struct):
    """Answer options in the format of ARC: a list of labels and a list of texts."""

    label: list[str]
    text: list[str]


_CHOICES = msgspec.Meta(
    description='[{"label": "A", "text": "…"}] or {"label": ["A"], "text": ["…"]}'
)
Choices = Annotated[list[Choice] | ChoiceLists, _CHOICES]


class FaithEvalRow(DataRow):
    """A question with its context."""

    id: Annotated[Label, named("qid", "id")]
    question: Text
    context: Text
    dataset: Annotated[Text, named("subset", "dataset")]

    def __post_init__(self) -> None:
        self.dataset = dataset_name(self.dataset)


class AnsweredRow(FaithEvalRow):
    """A question with a key: the original answer first, then the new one."""

    answers: Annotated[Texts, named("answers", "answer")]


class ChoiceRow(FaithEvalRow, kw_only=True):
    """A multiple-choice question. `right` is the text of the right option."""

    dataset: Annotated[Text, named("subset", "dataset")] = "ARC-Challenge"
    choices: Choices
    key: Annotated[Text, named("answerKey")]

    def __post_init__(self) -> None:
        self.choices = read_choices(self.choices, self.key)

    @property
    def options(self) -> list[Choice]:
        assert isinstance(self.choices, list)
        return self.choices


class _OpenOriginal(DataRow):
    question: Text
    context: Text
    answers: Annotated[Texts, named("answers", "answer")]


class _ChoiceOriginal(DataRow):
    question: Text
    choices: Choices
    key: Annotated[Text, named("answerKey")]

    def __post_init__(self) -> None:
        self.choices = read_choices(self.choices, self.key)


@dataclass(frozen=True)
class OriginalQuestion:
    """The original of a question. A multiple-choice question has options and a key."""

    question: str
    context: str = ""
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


def read_choices(choices: list[Choice] | ChoiceLists, key: str) -> list[Choice]:
    """Return the options as a list.

    Raises:
        Problem: There are fewer than two options, labels repeat, or the key isn't a label.
    """
    if isinstance(choices, ChoiceLists):
        labels, texts = choices.label, choices.text
        if len(labels) != len(texts):
            value = f"{len(labels)} labels and {len(texts)} texts"
            raise Problem("choices", value, "a text for each label")
        choices = [Choice(*pair) for pair in zip(labels, texts, strict=True)]
    labels = [choice.label for choice in choices]
    if len(choices) < 2 or len(set(labels)) < len(labels):
        value = f"the labels {', '.join(labels) or 'none'}"
        raise Problem("choices", value, "two or more options with different labels")
    if key not in labels:
        raise Problem("answerKey", describe(key), f"one of {', '.join(labels)}")
    return choices


def right_choice(choices: Sequence[Choice], key: str) -> str:
    """Return the text of the right option."""
    return next(choice.text for choice in choices if choice.label == key)


def dataset_name(text: str) -> str:
    """Return the paper's name of a source dataset. Other names stay unchanged."""
    name = re.sub(r"[^a-z0-9]", "", text.lower())
    while name not in _NAMES and _ADDITIONS.search(name):
        name = _ADDITIONS.sub("", name)
    return _NAMES.get(name, text)


def task_files(task: str, data: Path | None) -> list[Path]:
    """Return the data files of a task.

    Args:
        task: The task. In a folder, its name selects the files.
        data: The user's file or folder. None: the fetched files.

    Raises:
        InputError: A folder has no file of the task, or nothing is fetched.
        UsageError: The file is named after another task.
    """
    if data is None:
        return get_dataset("faitheval").local_files(task)
    files = DataPath(data).files()
    if not data.is_dir():
        others = [other for other in TASKS if other != task and other in data.name.lower()]
        if others and task not in data.name.lower():
            raise UsageError(
                f"{data} is named after the task {others[0]}, not {task}; run "
                f"faitheval/{others[0]}, or name a file, or a folder with a file for each task"
            )
        return files
    matching = [file for file in files if task in str(file.relative_to(data)).lower()]
    if not matching:
        seen = ", ".join(file.name for file in files[:5])
        raise InputError(f"{data} has no file with {task!r} in its name; found {seen}")
    return matching


def read_items(files: Sequence[Path], task: str, answers: bool = False) -> RowFiles[Any]:
    """Return all rows in order. `answers`: open questions need their key."""
    kind: type[FaithEvalRow] = AnsweredRow if answers else FaithEvalRow
    if task == "counterfactual":
        kind = ChoiceRow
    return RowFiles(kind, files, what=f"the task {task}")


def original_files(path: Path | None, choices: bool) -> list[Path]:
    """Return the files of original questions at a path, or the fetched ones.

    Raises:
        UsageError: There is no path, and nothing is fetched.
    """
    if path is not None:
        return DataPath(path).files()
    name = "arc-challenge" if choices else "mrqa"
    dataset = get_dataset(name)
    if dataset.is_fetched:
        return dataset.all_local_files()
    publisher = "ARC-Challenge" if choices else "MRQA"
    raise UsageError(
        "FaithEval's files don't have the original contexts and keys. Add --original PATH with "
        f"the files of {publisher}, or fetch them with: trueground data fetch {name}"
    )


def find_originals(
    files: Sequence[Path], questions: Mapping[str, str], choices: bool
) -> dict[str, OriginalQuestion]:
    """Return the originals of questions by id. Other rows are skipped.

    Questions are joined by id. Their texts must be equal, so that files of another dataset are
    rejected.

    Args:
        files: The files with originals.
        questions: The questions by id.
        choices: Whether the questions are multiple choice.

    Raises:
        InputError: A file or row is unreadable, a question has no original, its original has
            another text, or an id has two different originals.
    """
    originals: dict[str, OriginalQuestion] = {}
    for location, row in chain.from_iterable(map(_original_rows, files)):
        ids = [str(row[name]) for name in ("qid", "id") if isinstance(row.get(name), str | int)]
        if not any(id_.strip() for id_ in ids):
            value = describe(row.get("qid", row.get("id")))
            raise InputError(
                f"{location}, field 'qid' or 'id': found {value}; expected a str or an int"
            )
        row_id = next((id_ for id_ in ids if id_ in questions), None)
        if row_id is None:
            continue
        if choices:
            row_choice = _ChoiceOriginal.read(location, row)
            assert isinstance(row_choice.choices, list)
            original = OriginalQuestion(
                row_choice.question, choices=tuple(row_choice.choices), key=row_choice.key
            )
        else:
            row_open = _OpenOriginal.read(location, row)
            original = OriginalQuestion(
                row_open.question, row_open.context, tuple(row_open.answers)
            )
        if originals.setdefault(row_id, original) != original:
            raise InputError(
                f"{location} (id {row_id!r}): found a second, different original of this id; "
                "expected one"
            )
    paths = ", ".join(map(str, files))
    kind = "ARC-Challenge question" if choices else "original context"
    missing = [id_ for id_ in questions if id_ not in originals]
    require_none(missing, f"questions have no {kind} in {paths}", "Add the files that have them.")
    normalize = Normalizer.named("faitheval").rule
    different = []
    for id_, text in questions.items():
        if normalize(text) != normalize(originals[id_].question):
            different.append(id_)
    remedy = "Name the files of the same dataset."
    require_none(different, f"questions have another text in {paths}", remedy)
    return originals


def require_none(ids: list[str], what: str, remedy: str) -> None:
    """Raise InputError with the number and the first of these ids, if there are any."""
    if ids:
        listed = ", ".join(map(repr, ids[:_MAX_LISTED_IDS]))
        more = ", …" if len(ids) > _MAX_LISTED_IDS else ""
        raise InputError(f"{len(ids)} {what}: {listed}{more}. {remedy}")


def _original_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield one row per question, from the formats of MRQA and ARC or from flat rows."""
    for location, row in DataPath(path).rows():
        if "qas" in row:  # MRQA has several questions per context.
            questions = row["qas"]
            if not isinstance(questions, list) or not all(isinstance(q, dict) for q in questions):
                raise InputError(
                    f"{location}, field 'qas': found {describe(questions)}; expected a list of "
                    "objects"
                )
            for question in questions:
                yield location, {**question, "context": row.get("context")}
        elif isinstance(row.get("question"), dict):  # ARC nests the options in the question.
            stem, choices = row["question"].get("stem"), row["question"].get("choices")
            yield location, {**row, "question": stem, "choices": choices}
        elif "header" not in row:
            yield location, row
