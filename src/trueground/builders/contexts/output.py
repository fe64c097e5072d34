"""The dataset of `build contexts`, in FaithEval's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trueground.annotation.base import Label
from trueground.benchmarks.faitheval import TASKS
from trueground.builders.base import BuiltDataset
from trueground.builders.checks import says
from trueground.builders.contexts.items import UNKNOWN, ContextQuestion, JudgedContext, Target
from trueground.builders.contexts.people import as_judged, task_of
from trueground.builders.contexts.strings import joined
from trueground.builders.contexts.weighing import finds_answer
from trueground.builders.draws import draw
from trueground.builders.people import PeopleLabels
from trueground.builders.quality import BuiltItem

_encode = msgspec.json.Encoder().encode
Row = dict[str, Any]


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
        row, documents = make_row(judged, people.label(task_of(judged)), seed)
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
        human=people.account(as_judged),
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
