"""The first step of `build contexts`: rows → questions, every field checked.

Rows may be plain ones, or those of MRQA and ARC in their own layouts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from trueground.benchmarks.faitheval.source import Choices, dataset_name, read_choices
from trueground.benchmarks.rows import DataRow, Label, Text, Texts, named, read_row, texts_of
from trueground.builders.base import Rejected, SourceStep
from trueground.builders.checks import words
from trueground.builders.contexts import ContextsOptions
from trueground.builders.rows import Unusable, fault, source_rows
from trueground.errors import InputError
from trueground.records.problems import Problem, describe, shorten
from trueground.types import Choice

TaskName = Literal["unanswerable", "inconsistent", "counterfactual"]
_SHOWN = 50
_OPEN: tuple[TaskName, ...] = ("unanswerable", "inconsistent")
_REASONS = {
    "bad_row": "the row is wrong, and wrong rows are left out",
    "blank": "the row or its context is empty",
    "binary": "the row holds control characters or broken letters, or is no text",
    "enormous": "the context has more words than --max-context-words",
    "duplicate": "the same question with the same context was there before",
    "no_task": "the record allows none of the tasks that were asked for",
}


class ContextQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of the user's. `tasks` are those that it allows.

    `key` is the label of the right option; `subset` where the question comes from.
    """

    id: str
    question: str
    subset: str
    tasks: tuple[TaskName, ...]
    context: str = ""
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


class _SourceQuestion(DataRow):
    id: Annotated[Label, named("qid", "id")]
    question: Text
    context: Annotated[Any, named("context", "contexts")] = None
    answers: Annotated[Texts | None, named("references", "answers", "answer")] = None
    choices: Choices | None = None
    key: Annotated[Text | None, named("answerKey")] = None
    subset: Annotated[Text | None, named("subset", "dataset")] = None

    def wrong(self, field: str, found: str, expected: str) -> InputError:
        """The error to raise."""
        return InputError(Problem(field, found, expected).message(f"{self.place} (id {self.id!r})"))


def make_source(files: Sequence[Path], options: ContextsOptions) -> SourceStep[ContextQuestion]:
    """Reads the files; all wrong rows are named in one InputError, or are left out."""

    def read() -> Iterator[ContextQuestion | Rejected]:
        found: list[ContextQuestion | Rejected] = []
        bad: list[str] = []
        contents: dict[object, str] = {}
        places: dict[str, str] = {}
        for place, stem, value in _source_rows(files):
            try:
                found.append(_read_one(place, stem, value, options, contents, places))
            except Rejected as rejected:
                found.append(rejected)
            except InputError as error:
                found.append(Rejected("bad_row", str(error), id=place))
                bad.append(str(error))
        if bad and options.on_bad_row == "stop":
            raise _all_wrong(bad)
        _check_tasks(files, [one for one in found if isinstance(one, ContextQuestion)], options)
        return iter(found)

    return SourceStep("read", "Read the records", ContextQuestion, read, _REASONS)


def _source_rows(files: Sequence[Path]) -> Iterator[tuple[str, str, Any]]:
    """(place, bare name of the file, a question or what is wrong) of all files in order.

    A row of MRQA has several questions to a context; one of ARC has its options in the question.
    """
    for place, file, _, value in source_rows(files):
        stem = file.name.split(".")[0]
        if not isinstance(value, dict):
            yield place, stem, value
            continue
        inner, several = value.get("question"), value.get("qas")
        if isinstance(inner, dict):
            choices = inner.get("choices")
            yield place, stem, {**value, "question": inner.get("stem"), "choices": choices}
        elif "qas" not in value:
            if "header" not in value:
                yield place, stem, value
        elif isinstance(several, list) and all(isinstance(one, dict) for one in several):
            for one in several:
                yield place, stem, {**one, "context": value.get("context")}
        else:
            found = describe(several)
            problem = f"{place}, field 'qas': found {found}; expected a list of objects"
            yield place, stem, InputError(problem)


def _read_one(
    place: str,
    stem: str,
    value: Any,
    options: ContextsOptions,
    contents: dict[object, str],
    places: dict[str, str],
) -> ContextQuestion:
    """`contents` and `places` of the ids are those that were there before. InputError, Rejected."""
    if isinstance(value, InputError):
        raise value
    if isinstance(value, Unusable):
        if value.kind == "unreadable":
            raise InputError(value.found)
        raise Rejected(value.kind, value.found, id=value.id or place)
    question = read_question(place, stem, value, options)
    plain = (" ".join(text.split()).casefold() for text in (question.question, question.context))
    content = hashlib.sha256(repr((*plain, question.choices)).encode()).digest()
    if content in contents:
        raise Rejected("duplicate", f"{place}: the same as {contents[content]}", id=question.id)
    if question.id in places:
        raise InputError(
            f"{place} (id {question.id!r}): found this id a second time, first in "
            f"{places[question.id]}; expected ids that are unique in all files"
        )
    contents[content], places[question.id] = f"{question.id!r}", place
    return question


def _check_tasks(
    files: Sequence[Path], questions: Sequence[ContextQuestion], options: ContextsOptions
) -> None:
    """There is something to do, for every task that was asked for. InputError."""
    where = ", ".join(map(str, files))
    if not questions:
        raise InputError(
            f"{where}: found no record that can be used; expected rows with question, context "
            "and answers, or with question, choices and answerKey"
        )
    for task in options.task:
        if not any(task in question.tasks for question in questions):
            needs = "choices and answerKey" if task == "counterfactual" else "context, answers"
            raise InputError(
                f"{where}: found no record for the task {task}; it needs the fields question, "
                f"{needs}"
            )


def read_question(
    place: str, stem: str, row: dict[str, Any], options: ContextsOptions
) -> ContextQuestion:
    """One row. InputError: a field is wrong; Rejected: it is left out."""
    made_id = None if any(row.get(name) is not None for name in ("qid", "id")) else _made_id(row)
    _check_text(place, str(made_id or row.get("qid") or row.get("id")), row)
    read = read_row(_SourceQuestion, place, row if made_id is None else {**row, "id": made_id})
    allowed: list[TaskName] = []
    made: dict[str, Any] = {}
    if read.choices is not None:
        allowed.append("counterfactual")
        if read.key is None:
            raise read.wrong("answerKey", "no key", "the label of the right option")
        try:
            made["choices"] = tuple(read_choices(read.choices, read.key))
        except Problem as problem:
            raise read.wrong(problem.field or "", problem.found, problem.expected) from None
        made["key"] = read.key
    if read.answers is not None or not made:
        if read.answers is None:
            absent = f"no such field in {describe(row)}"
            raise read.wrong("references or answers or answer", absent, "a list of str, or one str")
        made["answers"] = texts_of(read.answers)
        made["context"] = _context(read, row)
        allowed[:0] = _OPEN
    tasks = tuple(task for task in allowed if task in options.task or not options.task)
    if not tasks:
        detail = f"{place}: it allows {', '.join(allowed)}"
        raise Rejected("no_task", detail, id=read.id)
    context, most = made.get("context", ""), options.max_context_words
    if len(context) > most and (found := words(context)) > most:  # a word has a character at least
        detail = f"{place}: {found:,} words, --max-context-words {most:,}"
        raise Rejected("enormous", detail, id=read.id)
    subset = stem if read.subset is None else dataset_name(read.subset)
    return ContextQuestion(id=read.id, question=read.question, subset=subset, tasks=tasks, **made)


def _context(read: _SourceQuestion, row: dict[str, Any]) -> str:
    """`context`, or all `contexts` with blank lines between, each under its title."""
    if read.context is None:
        found = f"no such field in {describe(row)}"
        raise read.wrong("context or contexts", found, "the passage")
    texts = read.context if isinstance(read.context, list) else [read.context]
    parts = [_passage(read, one) for one in texts]
    context = "\n\n".join(part for part in parts if part.strip())
    if not context:
        raise Rejected("blank", f"{read.place}: the context is blank", id=read.id)
    return context


def _passage(read: _SourceQuestion, value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        title = value.get("title")
        return f"{title}\n{value['text']}" if isinstance(title, str) and title else value["text"]
    if not isinstance(value, str):
        expected = 'a str, or a list of str or of {"title": "…", "text": "…"}'
        raise read.wrong("context or contexts", describe(value), expected)
    return value


def _check_text(place: str, row_id: str, row: dict[str, Any]) -> None:
    """No control characters or broken letters in anything that is used. Rejected."""
    for name in ("question", "context", "contexts", "references", "answers", "answer", "choices"):
        for text in _texts(row.get(name)):
            found = fault(text)
            if found is not None and found[0] == "binary":
                raise Rejected("binary", f"{place}, field {name!r}: {found[1]}", id=row_id)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _made_id(row: dict[str, Any]) -> str:
    """Of the row's content, so that it does not change where others come or go."""
    content = repr([row.get(name) for name in ("question", "context", "contexts", "choices")])
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    return f"q-{digest[:12]}"


def _all_wrong(bad: Sequence[str]) -> InputError:
    more = f"\n… and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
    listed = "\n".join(shorten(one, 400) for one in bad[:_SHOWN])
    return InputError(
        f"{len(bad):,} wrong row{'s' * (len(bad) > 1)}; fix that, or leave out what is wrong with "
        "--on-bad-row skip:\n"
        f"{listed}{more}"
    )
