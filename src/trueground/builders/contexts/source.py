"""The first step of `build contexts`: rows → questions, every field checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from trueground.benchmarks.faitheval.source import Choices, dataset_name, read_choices
from trueground.benchmarks.rows import Label, Row, Text, Texts, named, read_row, texts_of
from trueground.builders.base import SourceStep
from trueground.builders.checks import words
from trueground.builders.contexts.items import ContextQuestion, TaskName
from trueground.builders.contexts.rows import ContextRow, source_rows
from trueground.builders.contexts.settings import ContextsSettings
from trueground.builders.rejected import Rejected
from trueground.builders.rows import Unusable, fault
from trueground.errors import InputError
from trueground.records.problems import Problem, describe, shorten

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


class _SourceQuestion(Row):
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


class _Left(Exception):  # noqa: N818 - becomes a Rejected
    def __init__(self, item: str, reason: str, detail: str) -> None:
        self.dropped = Rejected(reason, detail, id=item)


def make_source(files: Sequence[Path], settings: ContextsSettings) -> SourceStep[ContextQuestion]:
    """Reads the files; all wrong rows are named in one InputError, or are left out."""
    return SourceStep(
        "read", "Read the records", ContextQuestion, _SourceReader(files, settings), _REASONS
    )


class _SourceReader:
    def __init__(self, files: Sequence[Path], settings: ContextsSettings) -> None:
        self._files, self._settings = files, settings

    def __call__(self) -> Iterator[ContextQuestion | Rejected]:
        found = list(self._all())
        self._check([one for one in found if isinstance(one, ContextQuestion)])
        return iter(found)

    def _all(self) -> Iterator[ContextQuestion | Rejected]:
        bad: list[str] = []
        contents: dict[bytes, str] = {}
        ids: dict[str, str] = {}
        for row in source_rows(self._files):
            try:
                yield self._one(row, contents, ids)
            except _Left as left:
                yield left.dropped
            except InputError as error:
                if self._settings.skip_bad:
                    yield Rejected("bad_row", str(error), id=row.place)
                bad.append(str(error))
        if bad and not self._settings.skip_bad:
            raise _all_wrong(bad)

    def _one(
        self, row: ContextRow, contents: dict[bytes, str], ids: dict[str, str]
    ) -> ContextQuestion:
        if isinstance(row.value, InputError):
            raise row.value
        if isinstance(row.value, Unusable):
            if row.value.kind == "unreadable":
                raise InputError(row.value.found)
            raise _Left(row.value.id or row.place, row.value.kind, row.value.found)
        question = read_question(row.place, row.stem, row.value, self._settings)
        content = hashlib.sha256(
            repr((_plain(question.question), _plain(question.context), question.choices)).encode()
        ).digest()
        if content in contents:
            raise _Left(question.id, "duplicate", f"{row.place}: the same as {contents[content]}")
        if question.id in ids:
            raise InputError(
                f"{row.place} (id {question.id!r}): found this id a second time, first in "
                f"{ids[question.id]}; expected ids that are unique in all files"
            )
        contents[content], ids[question.id] = f"{question.id!r}", row.place
        return question

    def _check(self, questions: Sequence[ContextQuestion]) -> None:
        """There is something to do, for every task that was asked for. InputError."""
        where = ", ".join(map(str, self._files))
        if not questions:
            raise InputError(
                f"{where}: found no record that can be used; expected rows with question, context "
                "and answers, or with question, choices and answerKey"
            )
        for task in self._settings.tasks:
            if not any(task in question.tasks for question in questions):
                needs = "choices and answerKey" if task == "counterfactual" else "context, answers"
                raise InputError(
                    f"{where}: found no record for the task {task}; it needs the fields question, "
                    f"{needs}"
                )


def read_question(
    place: str, stem: str, row: dict[str, Any], settings: ContextsSettings
) -> ContextQuestion:
    """One row. InputError: a field is wrong; _Left: it is left out, and why."""
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
            found = f"no such field in {describe(row)}"
            raise read.wrong("references or answers or answer", found, "a list of str, or one str")
        made["answers"] = texts_of(read.answers)
        made["context"] = _context(read, row)
        allowed[:0] = _OPEN
    tasks = tuple(task for task in allowed if task in settings.tasks or not settings.tasks)
    if not tasks:
        detail = f"{place}: it allows {', '.join(allowed)}"
        raise _Left(read.id, "no_task", detail)
    _check_size(read, made.get("context", ""), settings.max_words)
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
        raise _Left(read.id, "blank", f"{read.place}: the context is blank")
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
    """No control characters or broken letters in anything that is used. _Left."""
    for name in ("question", "context", "contexts", "references", "answers", "answer", "choices"):
        for text in _texts(row.get(name)):
            found = fault(text)
            if found is not None and found[0] == "binary":
                raise _Left(row_id, "binary", f"{place}, field {name!r}: {found[1]}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _check_size(read: _SourceQuestion, context: str, most: int) -> None:
    found = words(context) if len(context) > most else 0  # a word has a character at least
    if found > most:
        detail = f"{read.place}: {found:,} words, --max-context-words {most:,}"
        raise _Left(read.id, "enormous", detail)


def _made_id(row: dict[str, Any]) -> str:
    """Of the row's content, so that it does not change where others come or go."""
    content = repr([row.get(name) for name in ("question", "context", "contexts", "choices")])
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    return f"q-{digest[:12]}"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _all_wrong(bad: Sequence[str]) -> InputError:
    more = f"\n… and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
    listed = "\n".join(shorten(one, 400) for one in bad[:_SHOWN])
    return InputError(
        f"{len(bad):,} wrong row{'s' * (len(bad) > 1)}; fix that, or leave out what is wrong with "
        "--on-bad-row skip:\n"
        f"{listed}{more}"
    )
