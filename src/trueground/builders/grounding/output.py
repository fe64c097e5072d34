"""What a build of grounding ends in: files, what the quality report reads, tasks for annotators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trueground.annotation.base import Task
from trueground.builders.base import Dataset
from trueground.builders.grounding.instances import Factual, Instance
from trueground.builders.grounding.items import Context
from trueground.builders.grounding.people import candidate_task, gold_task, revision_task
from trueground.builders.grounding.writing import files_of
from trueground.builders.quality.base import Piece

FACTORS = ("popularity", "contexts", "answer")
_BOTH = "truly-ground"
_ORIGINAL = "truly-ground/original-gold"


def dataset_of(
    items: Sequence[Instance], passages: Mapping[str, Context], *, distractors: bool
) -> Dataset:
    """The dataset of the instances that are left."""
    both = any(item.conflict is not None for item in items)
    return Dataset(
        files=files_of(items, passages, distractors=distractors),
        quality=[_piece(f"Q{number}", item) for number, item in enumerate(items)],
        run=f"trueground run {_BOTH if both else _ORIGINAL} --data {{dataset}} --model MODEL",
        factors=FACTORS,
        tasks=list(_tasks(items)),
    )


def kappa(items: Sequence[Instance]) -> tuple[float | None, int]:
    """(Cohen's kappa of both models over all facts: gold or not; how many facts both judged)."""
    import numpy as np

    from trueground.stats.agreement import cohen_kappa

    table = np.zeros((2, 2), dtype=np.int64)
    for item in items:
        one = item.original
        if one.second is None or one.proposed is None:
            continue
        for number in range(len(one.facts)):
            table[int(number in one.proposed), int(number in one.second)] += 1
    return cohen_kappa(table), int(table.sum())


def _piece(id_: str, item: Instance) -> Piece:
    original = item.original
    pair = original.pair
    return Piece(
        id=id_,
        question=pair.question,
        contexts=original.context_texts,
        answers=pair.answers or (pair.answer,),
        factors={
            "popularity": pair.popularity,
            "contexts": pair.documents,
            "answer": pair.form,
        },
        numbers={
            "gold_facts": len(original.gold),
            "facts": len(original.facts),
            "contexts": len(pair.contexts),
            "changes": len(item.conflict.changes) if item.conflict is not None else 0,
            "distractors": len(item.distractors),
        },
        # Whom the judge could not answer from the gold facts has fallen; people are not asked that.
        answerable=True if original.proposed is not None else None,
    )


def _tasks(items: Sequence[Instance]) -> Iterator[Task]:
    for item in items:
        one = item.original
        yield candidate_task(one.pair)
        yield gold_task(Factual(one.id, one.pair, one.facts))
        revision = revision_task(item)
        if revision is not None:
            yield revision
