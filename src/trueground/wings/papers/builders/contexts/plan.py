"""Records → the plan of `build contexts`, and the dataset that it ends in.

Rows may be plain ones, or those of MRQA and ARC in their own layouts. The dataset has FaithEval's
form; annotators are asked as in Ming et al. 2024, section 3.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from trueground.benchmarks import DataRow, Label as RowLabel, Text, Texts, named
from trueground.errors import InputError, UsageError
from trueground.models import ChatRequest
from trueground.options import parse_options
from trueground.records import FileInfo, Problem, describe
from trueground.wings.labeling import AnnotationTask, Label
from trueground.wings.papers.builders.base import BuildPlan, BuiltDataset, Rejected, SourceStep
from trueground.wings.papers.builders.checks import contains_phrase, count_words, require_languages
from trueground.wings.papers.builders.contexts import ContextsOptions, stages
from trueground.wings.papers.builders.contexts.checks import (
    UNKNOWN,
    ContextQuestion,
    JudgedContext,
    TaskName,
    conditions,
    finds_answer,
    joined,
)
from trueground.wings.papers.builders.people import PeopleLabels
from trueground.wings.papers.builders.quality import BuiltItem
from trueground.wings.papers.builders.rows import (
    UnusableRow,
    check_rows,
    check_text,
    source_files,
    source_rows,
)
from trueground.wings.papers.builders.sampling import choose
from trueground.wings.papers.builders.settings import Material
from trueground.wings.papers.faitheval.source import Choices, dataset_name, read_choices
from trueground.wings.papers.faitheval.studies import TASKS

_KIND = "validity"
Row = dict[str, Any]
_encode = msgspec.json.Encoder().encode
# The fields whose texts are used.
_USED = ("question", "context", "contexts", "references", "answers", "answer", "choices")
_OPEN: tuple[TaskName, ...] = ("unanswerable", "inconsistent")
_REASONS = {
    "bad_row": "the row is wrong, and wrong rows are left out",
    "blank": "the row or its context is empty",
    "binary": "the row holds control characters or broken letters, or is no text",
    "enormous": "the context has more words than --max-context-words",
    "duplicate": "the same question with the same context was there before",
    "no_task": "the record allows none of the tasks that were asked for",
}


def prepare(options: Mapping[str, str | bool | None], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, MissingExtraError."""
    own = parse_options(ContextsOptions, "build contexts", options, seed=material.seed)
    for name in own.task:
        if name not in TASKS:
            raise UsageError.unknown_name("task of build contexts", name, TASKS)
    if own.language == "check":
        require_languages("--language check (leave it out with --language any)")
    files = source_files(material.paths)
    read = files if material.labels is None else [*files, material.labels]
    people = PeopleLabels([_KIND], lambda judged: [make_task(judged)], material.labels)
    valid = stages.ValidStage(own)
    flow: list[Any] = [
        stages.tasks_stage(own),
        stages.answer_stage(material, own),
        stages.write_stage(material, own),
        stages.check_stage(own),
        stages.judge_stage(material),
    ]
    if "second-judge" in material.roles:
        flow += [stages.sample_stage(own), stages.second_stage(material, own)]
    writer = material.roles["writer"]
    notices = [f"The contexts were written by the model {writer}; they may state what is false."]

    def finish(items: Sequence[JudgedContext]) -> BuiltDataset:
        agreement = valid.agreement()
        if agreement is not None:
            n, kappa = agreement["items"], agreement["kappa"]
            seen, them = ("1 item", "it") if n == 1 else (f"{n:,} items", "them")
            notices[1:] = [
                f"A second judge saw {seen} and came to the same verdict on "
                f"{agreement['agreement']:.1%} of {them} (Cohen's kappa "
                f"{'undefined' if kappa is None else f'{kappa:.2f}'})."
            ]
        return make_dataset(items, people, agreement, own.seed)

    def count_tokens(question: ContextQuestion) -> float:
        texts = [question.question, question.context, *(one.text for one in question.choices)]
        return sum(map(len, texts)) / ChatRequest.CHARACTERS_PER_TOKEN

    named = ",".join(task for task in TASKS if task in own.task)
    return BuildPlan(
        builder="contexts",
        options={**options, "task": named or "all that the records allow"},
        files=[FileInfo.of(str(file), file) for file in read],
        source=make_source(files, own),
        stages=[*flow, valid.stage, people.stage(JudgedContext)],
        finish=finish,
        tokens=count_tokens,
        notices=notices,
        people=people,
    )


def make_task(judged: JudgedContext) -> AnnotationTask:
    """What annotators see of an item."""
    target = judged.written.target
    shown: dict[str, Any] = {
        "task": target.task,
        "question": target.source.question,
        "context": judged.written.context,
        "answer": target.answer,
    }
    if target.task == "counterfactual":
        shown["choices"] = [f"{c.label}. {c.text}" for c in target.source.choices]
    return AnnotationTask.of(_KIND, judged.id, shown)


def make_dataset(
    items: Sequence[JudgedContext],
    people: PeopleLabels,
    agreement: Mapping[str, Any] | None,
    seed: int,
) -> BuiltDataset:
    """A file for each task that has items; the originals; how two judges agreed."""
    rows: dict[str, list[Row]] = {}
    built = []
    for judged in items:
        row, documents = make_row(judged, people.label(make_task(judged)), seed)
        rows.setdefault(judged.written.target.task, []).append(row)
        built.append(_built_item(judged, documents))
    done = [task for task in TASKS if task in rows]
    files = {f"{task}.jsonl": _lines(rows[task]) for task in done}
    sources = {one.written.target.source.id: one.written.target.source for one in items}
    files["originals.jsonl"] = _lines([_original(source) for source in sources.values()])
    if agreement is not None:
        files["agreement.json"] = _encode(agreement) + b"\n"
    return BuiltDataset(
        files,
        built,
        _run(done),
        factors=("task", "subset"),
        tasks=people.tasks,
        human=people.account(lambda one, _task: conditions(one.written, one.verdict)),
    )


def make_row(judged: JudgedContext, label: Label | None, seed: int) -> tuple[Row, tuple[str, ...]]:
    """(one line of a task's file, the documents of its context in order)."""
    target, new = judged.written.target, judged.written.context
    source = target.source
    row: Row = {"qid": source.id, "question": source.question, "subset": source.subset}
    documents: tuple[str, ...] = (new,)
    if target.task == "inconsistent":
        old = _stated(source)
        order = document_order(judged.id, seed)
        texts = {"original": (source.context, old), "new": (new, target.answer)}
        documents = tuple(texts[which][0].strip() for which in order)
        row["context"] = joined(*documents)
        # The benchmark takes the first for the original answer, the second for the new one.
        row["answers"] = [old, target.answer]
        row["documents"] = [{"which": which, "answer": texts[which][1]} for which in order]
    elif target.task == "unanswerable":
        row |= {"context": new, "answers": [UNKNOWN]}
        old = _stated(source)
    else:
        labels, options = zip(*((c.label, c.text) for c in source.choices), strict=True)
        row |= {"context": new, "choices": {"label": labels, "text": options}}
        row |= {"answerKey": target.key, "answer": target.answer, "original_key": source.key}
        old = target.old_answers[0]
    validation: Row = {"judge": judged.verdict}
    if judged.second is not None:
        validation["second_judge"] = judged.second
    if label is not None:
        validation["people"] = {**label.values, "annotators": label.annotators}
    row |= {
        "new_context": new,
        "original_context": source.context,
        "old_answer": old,
        "old_answers": target.old_answers,
        "new_answer": target.answer,
        judged.written.evidence_name: judged.written.evidence,
        "justification": "\n".join(filter(None, (target.why, judged.written.justification))),
        "validation": validation,
    }
    return row, documents


def document_order(item: str, seed: int) -> tuple[str, str]:
    """Which of the two documents comes first: by seed and id."""
    orders = (("new", "original"), ("original", "new"))
    return choose(f"order/{seed}", item, orders, lambda order: order[0])


def _stated(source: ContextQuestion) -> str:
    """The first form of the old answer that stands in the context, else the first of all."""
    stand = (answer for answer in source.answers if contains_phrase(source.context, answer))
    return next(stand, source.answers[0])


def _original(source: ContextQuestion) -> Row:
    """What the question was made of, as `trueground run faitheval --original` reads it."""
    row: Row = {"qid": source.id, "question": source.question, "subset": source.subset}
    if source.answers:
        row |= {"context": source.context, "answers": source.answers}
    if source.choices:
        row |= {"choices": source.choices, "answerKey": source.key}
    return row


def _built_item(judged: JudgedContext, documents: tuple[str, ...]) -> BuiltItem:
    written, target = judged.written, judged.written.target
    answers: tuple[str, ...] = () if target.task == "unanswerable" else (target.answer,)
    if target.task == "inconsistent":
        answers = (_stated(target.source), target.answer)
    kept = written.share_kept
    return BuiltItem(
        id=judged.id,
        question=target.source.question,
        contexts=documents,
        answers=answers,
        factors={"task": target.task, "subset": target.source.subset},
        numbers={} if kept is None else {"share_kept": kept},
        answerable=finds_answer(judged.verdict),
    )


def _run(tasks: Sequence[str]) -> str:
    """The command that takes the dataset."""
    if not tasks:
        return "(no item is left to run; dropped.jsonl says why)"
    names = ["faitheval"] if len(tasks) == len(TASKS) else [f"faitheval/{task}" for task in tasks]
    return " && ".join(f"trueground run {name} --data {{dataset}} --model NAME" for name in names)


def _lines(rows: Sequence[Row]) -> bytes:
    return b"".join(_encode(row) + b"\n" for row in rows)


# --- the source: rows → questions, every field checked


class _SourceQuestion(DataRow):
    id: Annotated[RowLabel, named("qid", "id")]
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
        found = list(_read_all(files, options))
        wrong = ("bad_row",) if options.on_bad_row == "stop" else ()
        expected = (
            "rows with question, context and answers, or with question, choices and answerKey"
        )
        check_rows(files, found, wrong, expected, "record")
        allowed = {t for one in found if isinstance(one, ContextQuestion) for t in one.tasks}
        for task in set(options.task) - allowed:
            needs = "choices and answerKey" if task == "counterfactual" else "context, answers"
            raise InputError(
                f"{', '.join(map(str, files))}: found no record for the task {task}; it needs the "
                f"fields question, {needs}"
            )
        return iter(found)

    return SourceStep("read", "Read the records", ContextQuestion, read, _REASONS)


def _read_all(
    files: Sequence[Path], options: ContextsOptions
) -> Iterator[ContextQuestion | Rejected]:
    contents: dict[object, str] = {}
    places: dict[str, str] = {}
    for place, stem, value in _source_rows(files):
        try:
            if isinstance(value, InputError):
                raise value
            if isinstance(value, UnusableRow):
                if value.kind == "unreadable":
                    raise InputError(value.message)
                raise Rejected(value.kind, value.message, id=value.id or place)
            one = read_question(place, stem, value, options)
            plain = [" ".join(text.split()).casefold() for text in (one.question, one.context)]
            content = hashlib.sha256(repr((*plain, one.choices)).encode()).digest()
            if content in contents:
                same = f"{place}: the same as {contents[content]}"
                raise Rejected("duplicate", same, id=one.id)
            if one.id in places:
                raise InputError(
                    f"{place} (id {one.id!r}): found this id a second time, first in "
                    f"{places[one.id]}; expected ids that are unique in all files"
                )
            contents[content], places[one.id] = f"{one.id!r}", place
            yield one
        except Rejected as rejected:
            yield rejected
        except InputError as error:
            yield Rejected("bad_row", str(error), id=place)


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


def read_question(
    place: str, stem: str, row: dict[str, Any], options: ContextsOptions
) -> ContextQuestion:
    """One row. InputError: a field is wrong; Rejected: it is left out."""
    if all(row.get(name) is None for name in ("qid", "id")):
        # Of the row's content, so that it does not change where others come or go.
        content = repr([row.get(name) for name in ("question", "context", "contexts", "choices")])
        digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
        row = {**row, "id": f"q-{digest[:12]}"}
    for name in _USED:
        for text in _texts(row.get(name)):
            if (found := check_text(text)) is not None and found[0] == "binary":
                id_ = str(row.get("qid") or row.get("id"))
                raise Rejected("binary", f"{place}, field {name!r}: {found[1]}", id=id_)
    read = _SourceQuestion.read(place, row)
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
        made["answers"] = tuple(read.answers)
        made["context"] = _context(read, row)
        allowed[:0] = _OPEN
    tasks = tuple(task for task in allowed if task in options.task or not options.task)
    if not tasks:
        detail = f"{place}: it allows {', '.join(allowed)}"
        raise Rejected("no_task", detail, id=read.id)
    context, max_words = made.get("context", ""), options.max_context_words
    # A word has at least one character, so most contexts needn't be split into words.
    n_words = count_words(context) if len(context) > max_words else 0
    if n_words > max_words:
        detail = f"{place}: {n_words:,} words, --max-context-words {max_words:,}"
        raise Rejected("enormous", detail, id=read.id)
    subset = stem if read.subset is None else dataset_name(read.subset)
    return ContextQuestion(id=read.id, question=read.question, subset=subset, tasks=tasks, **made)


def _context(read: _SourceQuestion, row: dict[str, Any]) -> str:
    """`context`, or all `contexts` with blank lines between, each under its title."""
    if read.context is None:
        found = f"no such field in {describe(row)}"
        raise read.wrong("context or contexts", found, "the passage")
    parts = []
    for one in read.context if isinstance(read.context, list) else [read.context]:
        text, title = (one.get("text"), one.get("title")) if isinstance(one, dict) else (one, None)
        if not isinstance(text, str):
            expected = 'a str, or a list of str or of {"title": "…", "text": "…"}'
            raise read.wrong("context or contexts", describe(one), expected)
        parts.append(f"{title}\n{text}" if isinstance(title, str) and title else text)
    context = "\n\n".join(part for part in parts if part.strip())
    if not context:
        raise Rejected("blank", f"{read.place}: the context is blank", id=read.id)
    return context


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
