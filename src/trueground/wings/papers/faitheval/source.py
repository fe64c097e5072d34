"""FaithEval's rows and files, and the questions that it was made of (MRQA and ARC-Challenge)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
# What the sources add to a dataset's name: NaturalQuestionsShort, TriviaQA-web, SQuAD1.1.
_ADDITIONS = re.compile(r"(short|web|wiki|wikipedia|dev|test|open|v?\d+)$")


class ChoiceLists(msgspec.Struct):
    """The options as ARC has them: a list of labels and one of texts."""

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
    """One whose answers are a key: the original one first, then the new one."""

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
    """What a question was made of; a multiple-choice question has options and a key."""

    question: str
    context: str = ""
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


def read_choices(choices: list[Choice] | ChoiceLists, key: str) -> list[Choice]:
    """The options as a list. Problem: not two or more with labels of their own, or no such key."""
    if isinstance(choices, ChoiceLists):
        labels, texts = choices.label, choices.text
        if len(labels) != len(texts):
            found = f"{len(labels)} labels and {len(texts)} texts"
            raise Problem("choices", found, "a text for each label")
        choices = [Choice(*pair) for pair in zip(labels, texts, strict=True)]
    labels = [choice.label for choice in choices]
    if len(choices) < 2 or len(set(labels)) < len(labels):
        found = f"the labels {', '.join(labels) or 'none'}"
        raise Problem("choices", found, "two or more, each with its own label")
    if key not in labels:
        raise Problem("answerKey", describe(key), f"one of {', '.join(labels)}")
    return choices


def right_choice(choices: Sequence[Choice], key: str) -> str:
    """The text of the right option."""
    return next(choice.text for choice in choices if choice.label == key)


def dataset_name(text: str) -> str:
    """The paper's name of a source dataset; other names as they are."""
    name = re.sub(r"[^a-z0-9]", "", text.lower())
    while name not in _NAMES and (shorter := _ADDITIONS.sub("", name)) != name:
        name = shorter
    return _NAMES.get(name, text)


def task_files(task: str, data: Path | None) -> list[Path]:
    """Those with its name in the folder, the file, or the fetched ones. UsageError, InputError."""
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
    """Every row in order; with `answers` those of open questions too, where they are a key."""
    kind: type[FaithEvalRow] = AnsweredRow if answers else FaithEvalRow
    if task == "counterfactual":
        kind = ChoiceRow
    return RowFiles(kind, files, what=f"the task {task}")


def original_files(path: Path | None, choices: bool) -> list[Path]:
    """Those at `path`, or those fetched; never anything else. UsageError: neither."""
    if path is not None:
        return DataPath(path).files()
    name = "arc-challenge" if choices else "mrqa"
    dataset = get_dataset(name)
    if dataset.is_fetched:
        return dataset.all_local_files()
    what = "ARC-Challenge's files" if choices else "MRQA's files"
    raise UsageError(
        "original contexts and keys are not in FaithEval's own files; add --original PATH with "
        f"{what}, to be joined by id, or fetch them: trueground data fetch {name}"
    )


def find_originals(
    files: Sequence[Path], wanted: Mapping[str, str], choices: bool
) -> dict[str, OriginalQuestion]:
    """The originals of the questions in `wanted` (by id); all others are passed over.

    They are joined by id, and only where the question is the same, so that a file of something else
    is never taken for them. InputError: an unreadable file or row, a question without an original,
    one that asks something else than its original, two different originals of one id.
    """
    found: dict[str, OriginalQuestion] = {}
    for place, row in (pair for file in files for pair in _original_rows(file)):
        ids = [str(row[name]) for name in ("qid", "id") if isinstance(row.get(name), str | int)]
        if not any(one.strip() for one in ids):
            raise InputError(
                f"{place}, field 'qid' or 'id': found {describe(row.get('qid', row.get('id')))}; "
                "expected a str or an int"
            )
        row_id = next((one for one in ids if one in wanted), None)
        if row_id is None:
            continue
        if choices:
            one = _ChoiceOriginal.read(place, row)
            assert isinstance(one.choices, list)
            original = OriginalQuestion(one.question, choices=tuple(one.choices), key=one.key)
        else:
            other = _OpenOriginal.read(place, row)
            original = OriginalQuestion(other.question, other.context, tuple(other.answers))
        if found.setdefault(row_id, original) != original:
            raise InputError(
                f"{place} (id {row_id!r}): found a second, different original of this id; expected "
                "one"
            )
    where = ", ".join(map(str, files))
    what = "ARC-Challenge question" if choices else "original context"
    missing = [name for name in wanted if name not in found]
    require_none(missing, f"questions have no {what} in {where}", "Add the files that hold them.")
    same = Normalizer.named("faitheval").rule
    others = [name for name in wanted if same(wanted[name]) != same(found[name].question)]
    remedy = "Name the files that they come from."
    require_none(others, f"questions read otherwise in {where}", remedy)
    return found


def require_none(ids: list[str], what: str, remedy: str) -> None:
    """InputError that counts these ids and names the first, unless there are none."""
    if ids:
        shown = ", ".join(map(repr, ids[:_MAX_LISTED_IDS]))
        more = ", …" if len(ids) > _MAX_LISTED_IDS else ""
        raise InputError(f"{len(ids)} {what}: {shown}{more}. {remedy}")


def _original_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every question, in MRQA's and ARC's own layouts or in a flat one: a row each."""
    for place, row in DataPath(path).rows():
        if "qas" in row:  # MRQA: several questions to a context
            asked = row["qas"]
            if not isinstance(asked, list) or not all(isinstance(q, dict) for q in asked):
                raise InputError(
                    f"{place}, field 'qas': found {describe(asked)}; expected a list of objects"
                )
            yield from ((place, {**one, "context": row.get("context")}) for one in asked)
        elif isinstance(inner := row.get("question"), dict):  # ARC: the options inside
            stem, choices = inner.get("stem"), inner.get("choices")
            yield place, {**row, "question": stem, "choices": choices}
        elif "header" not in row:
            yield place, row
