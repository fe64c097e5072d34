"""The dataset of `build contexts`, in FaithEval's form."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trueground.annotation.base import Label
from trueground.benchmarks.faitheval.source import TASKS
from trueground.builders.base import Dataset
from trueground.builders.checks import says, share_kept
from trueground.builders.contexts.items import UNKNOWN, Judged, Question, Target
from trueground.builders.contexts.ledger import Ledger, Rejected
from trueground.builders.contexts.people import CONDITIONS, task_of
from trueground.builders.contexts.strings import joined
from trueground.builders.quality.base import Piece

_encode = msgspec.json.Encoder().encode
Row = dict[str, Any]


def make_dataset(
    items: Sequence[Judged], ledger: Ledger, labels: Mapping[str, Label], seed: int
) -> Dataset:
    """A file for each task that has items; the originals; what was rejected; the agreement."""
    rows: dict[str, list[Row]] = {}
    pieces = []
    for judged in items:
        row, documents = make_row(judged, labels.get(judged.id), seed)
        rows.setdefault(judged.written.target.task, []).append(row)
        pieces.append(_piece(judged, documents, labels.get(judged.id)))
    done = [task for task in TASKS if task in rows]
    files = {f"{task}.jsonl": _lines(rows[task]) for task in done}
    sources = {one.written.target.source.id: one.written.target.source for one in items}
    files["originals.jsonl"] = _lines([_original(source) for source in sources.values()])
    files["rejected.jsonl"] = _lines([_rejected(one) for one in ledger.rejected])
    if ledger.verdicts:
        files["agreement.json"] = _encode(agreement(ledger)) + b"\n"
    return Dataset(files, pieces, _run(done), ("task", "subset"), [*map(task_of, ledger.asked)])


def make_row(judged: Judged, label: Label | None, seed: int) -> tuple[Row, tuple[str, ...]]:
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
        labels, words = zip(*((c.label, c.text) for c in source.choices), strict=True)
        row |= {"context": new, "choices": {"label": labels, "text": words}}
        row |= {"answerKey": target.key, "answer": target.answer, "original_key": source.key}
    row |= {
        "new_context": new,
        "original_context": source.context,
        "old_answer": _old(target),
        "old_answers": target.old_answers,
        "new_answer": target.answer,
        _account(target): judged.written.evidence,
        "justification": "\n".join(filter(None, (target.why, judged.written.justification))),
        "validation": _validation(judged, label),
    }
    return row, documents


def document_order(item: str, seed: int) -> tuple[str, str]:
    """Which of the two documents comes first: by seed and id."""
    new_first = random.Random(f"{seed}/order/{item}").random() < 0.5
    return ("new", "original") if new_first else ("original", "new")


def agreement(ledger: Ledger) -> Row:
    """How two judges agreed on what is valid: counts, the share, Cohen's kappa (None: undefined).

    `table` has the first judge's verdicts as rows, the second's as columns; valid comes first.
    """
    import numpy as np

    from trueground.stats.agreement import cohen_kappa

    table = np.zeros((2, 2), np.int64)
    for first, second in ledger.verdicts.values():
        table[int(not first), int(not second)] += 1
    n = len(ledger.verdicts)
    return {
        "items": n,
        "agreement": float(np.trace(table)) / n,
        "kappa": cohen_kappa(table),
        "table": table.tolist(),
    }


def _stated(source: Question) -> str:
    """The first form of the old answer that stands in the context, else the first of all."""
    stand = (answer for answer in source.answers if says(source.context, answer))
    return next(stand, source.answers[0])


def _old(target: Target) -> str:
    return target.old_answers[0] if target.task == "counterfactual" else _stated(target.source)


def _account(target: Target) -> str:
    """What the passages are that the model named."""
    return "distractors" if target.task == "unanswerable" else "evidence"


def _validation(judged: Judged, label: Label | None) -> Row:
    found: Row = {"judge": judged.verdict}
    if judged.second is not None:
        found["second_judge"] = judged.second
    if label is not None:
        found["people"] = {**label.values, "annotators": label.annotators}
    return found


def _original(source: Question) -> Row:
    """What the question was made of, as `trueground run faitheval --original` reads it."""
    row: Row = {"qid": source.id, "question": source.question, "subset": source.subset}
    if source.answers:
        row |= {"context": source.context, "answers": source.answers}
    if source.choices:
        row |= {"choices": source.choices, "answerKey": source.key}
    return row


def _rejected(one: Rejected) -> Row:
    target = one.written.target
    return {
        "id": one.written.id,
        "stage": one.stage,
        "reason": one.reason,
        "detail": one.detail,
        "question": target.source.question,
        "new_answer": target.answer,
        "new_context": one.written.context,
        "original_context": target.source.context,
        "old_answers": target.old_answers,
        _account(target): one.written.evidence,
        "justification": one.written.justification,
    }


def _piece(judged: Judged, documents: tuple[str, ...], label: Label | None) -> Piece:
    target = judged.written.target
    source = target.source
    none = target.task == "unanswerable"
    numbers = {"words": float(sum(len(text.split()) for text in documents))}
    if source.context and target.task != "counterfactual":
        numbers["share_kept"] = share_kept(source.context, judged.written.context)
    human = (
        {name: str(label.values[name]) for name in CONDITIONS if name in label.values}
        if label
        else {}
    )
    return Piece(
        id=judged.id,
        question=source.question,
        contexts=documents,
        answers=() if none else _expected(target),
        factors={"task": target.task, "subset": source.subset},
        numbers=numbers,
        answerable=not none,
        human=human,
        annotators=label.annotators if label else 0,
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
