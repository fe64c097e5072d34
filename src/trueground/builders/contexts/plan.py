"""Options and material → the plan of `build contexts`, and the dataset that it ends in.

The dataset has FaithEval's form; annotators are asked as in Ming et al. 2024, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trueground.annotation.base import AnnotationTask, Label
from trueground.benchmarks.faitheval import TASKS
from trueground.benchmarks.options import Value, parse_options
from trueground.builders.base import BuildPlan, BuiltDataset, Material
from trueground.builders.checks import need_languages, says
from trueground.builders.contexts import ContextsOptions, stages
from trueground.builders.contexts.checks import (
    UNKNOWN,
    JudgedContext,
    Target,
    conditions,
    finds_answer,
    joined,
)
from trueground.builders.contexts.source import ContextQuestion, make_source
from trueground.builders.people import PeopleLabels
from trueground.builders.quality import BuiltItem
from trueground.builders.rows import source_files
from trueground.errors import unknown_name
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.records import FileInfo
from trueground.text.draws import draw

_KIND = "validity"
Row = dict[str, Any]
_encode = msgspec.json.Encoder().encode


def prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, MissingExtraError."""
    own = parse_options(ContextsOptions, "build contexts", options, seed=material.seed)
    for name in own.task:
        if name not in TASKS:
            raise unknown_name("task of build contexts", name, TASKS)
    if own.language == "check":
        need_languages("--language check (leave it out with --language any)")
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
        notices[1:] = [] if agreement is None else [_describe_agreement(agreement)]
        return make_dataset(items, people, agreement, own.seed)

    named = ",".join(task for task in TASKS if task in own.task)
    return BuildPlan(
        builder="contexts",
        options={**options, "task": named or "all that the records allow"},
        files=[FileInfo.of(str(file), file) for file in read],
        source=make_source(files, own),
        stages=[*flow, valid.stage, people.stage(JudgedContext)],
        finish=finish,
        tokens=_count_tokens,
        notices=notices,
        people=people,
    )


def _count_tokens(question: ContextQuestion) -> float:
    """Tokens of a question with its context and options."""
    texts = [question.question, question.context, *(choice.text for choice in question.choices)]
    return sum(map(len, texts)) / CHARACTERS_PER_TOKEN


def _describe_agreement(found: Mapping[str, Any]) -> str:
    kappa = "undefined" if found["kappa"] is None else f"{found['kappa']:.2f}"
    n = found["items"]
    items, them = ("1 item", "it") if n == 1 else (f"{n:,} items", "them")
    return (
        f"A second judge saw {items} and came to the same verdict on {found['agreement']:.1%} of "
        f"{them} (Cohen's kappa {kappa})."
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
    pieces = []
    for judged in items:
        row, documents = make_row(judged, people.label(make_task(judged)), seed)
        rows.setdefault(judged.written.target.task, []).append(row)
        pieces.append(_piece(judged, documents))
    done = [task for task in TASKS if task in rows]
    files = {f"{task}.jsonl": _lines(rows[task]) for task in done}
    sources = {one.written.target.source.id: one.written.target.source for one in items}
    files["originals.jsonl"] = _lines([_original(source) for source in sources.values()])
    if agreement is not None:
        files["agreement.json"] = _encode(agreement) + b"\n"
    return BuiltDataset(
        files,
        pieces,
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
    else:
        labels, options = zip(*((c.label, c.text) for c in source.choices), strict=True)
        row |= {"context": new, "choices": {"label": labels, "text": options}}
        row |= {"answerKey": target.key, "answer": target.answer, "original_key": source.key}
    row |= {
        "new_context": new,
        "original_context": source.context,
        "old_answer": _old(target),
        "old_answers": target.old_answers,
        "new_answer": target.answer,
        judged.written.evidence_name: judged.written.evidence,
        "justification": "\n".join(filter(None, (target.why, judged.written.justification))),
        "validation": _validation(judged, label),
    }
    return row, documents


def document_order(item: str, seed: int) -> tuple[str, str]:
    """Which of the two documents comes first: by seed and id."""
    orders = (("new", "original"), ("original", "new"))
    return draw(f"order/{seed}", item, orders, lambda order: order[0])


def _stated(source: ContextQuestion) -> str:
    """The first form of the old answer that stands in the context, else the first of all."""
    stand = (answer for answer in source.answers if says(source.context, answer))
    return next(stand, source.answers[0])


def _old(target: Target) -> str:
    return target.old_answers[0] if target.task == "counterfactual" else _stated(target.source)


def _validation(judged: JudgedContext, label: Label | None) -> Row:
    found: Row = {"judge": judged.verdict}
    if judged.second is not None:
        found["second_judge"] = judged.second
    if label is not None:
        found["people"] = {**label.values, "annotators": label.annotators}
    return found


def _original(source: ContextQuestion) -> Row:
    """What the question was made of, as `trueground run faitheval --original` reads it."""
    row: Row = {"qid": source.id, "question": source.question, "subset": source.subset}
    if source.answers:
        row |= {"context": source.context, "answers": source.answers}
    if source.choices:
        row |= {"choices": source.choices, "answerKey": source.key}
    return row


def _piece(judged: JudgedContext, documents: tuple[str, ...]) -> BuiltItem:
    written, target = judged.written, judged.written.target
    kept = written.share_kept
    return BuiltItem(
        id=judged.id,
        question=target.source.question,
        contexts=documents,
        answers=() if target.task == "unanswerable" else _expected(target),
        factors={"task": target.task, "subset": target.source.subset},
        numbers={} if kept is None else {"share_kept": kept},
        answerable=finds_answer(judged.verdict),
    )


def _expected(target: Target) -> tuple[str, ...]:
    both = target.task == "inconsistent"
    return (_stated(target.source), target.answer) if both else (target.answer,)


def _run(tasks: Sequence[str]) -> str:
    """The command that takes the dataset."""
    if not tasks:
        return "(no item is left to run; dropped.jsonl says why)"
    names = ["faitheval"] if len(tasks) == len(TASKS) else [f"faitheval/{task}" for task in tasks]
    return " && ".join(f"trueground run {name} --data {{dataset}} --model NAME" for name in names)


def _lines(rows: Sequence[Row]) -> bytes:
    return b"".join(_encode(row) + b"\n" for row in rows)
