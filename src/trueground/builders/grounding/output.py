"""What a build of grounding ends in: files, what the quality report reads, tasks for annotators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trueground.builders.base import BuiltDataset
from trueground.builders.grounding.instances import Instance, OriginalInstance
from trueground.builders.grounding.items import Context
from trueground.builders.grounding.people import judged
from trueground.builders.grounding.writing import files_of
from trueground.builders.people import PeopleLabels
from trueground.builders.quality.base import Piece

FACTORS = ("popularity", "contexts", "answer")
_BOTH = "truly-ground"
_ORIGINAL = "truly-ground/original-gold"


def dataset_of(
    items: Sequence[Instance],
    passages: Mapping[str, Context],
    people: PeopleLabels,
    *,
    distractors: bool,
) -> BuiltDataset:
    """The dataset of the instances that are left."""
    both = any(item.conflict is not None for item in items)
    return BuiltDataset(
        files=files_of(items, passages, distractors=distractors),
        quality=[_piece(f"Q{number}", item) for number, item in enumerate(items)],
        run=f"trueground run {_BOTH if both else _ORIGINAL} --data {{dataset}} --model MODEL",
        factors=FACTORS,
        tasks=people.tasks,
        human=people.account(judged),
    )


def agreement(items: Sequence[Instance]) -> list[str]:
    """What both models say of all facts (gold or not), in words; nothing where one alone was asked.

    The study reports 0.82 between people (section 3.2).
    """
    from trueground.stats.agreement import two_judges

    said_by_both = [(item.id, *said) for item in items for said in _both(item.original)]
    pairs = [(first, second) for _, first, second in said_by_both]
    found = two_judges(pairs, [id_ for id_, _, _ in said_by_both])
    if not found["n"]:
        return []
    value, bounds = found["kappa"], found["kappa_ci"]
    said = "undefined" if value is None else f"{value:.2f}"
    between = "" if bounds is None else f" ({bounds[0]:.2f} to {bounds[1]:.2f})"
    return [
        f"Gold facts: Cohen's kappa of the two models is {said}{between} over {found['n']:,} facts"
    ]


def _both(one: OriginalInstance) -> Iterator[tuple[bool, bool]]:
    """(the first model calls it gold, the second does) of each fact, where both were asked."""
    if one.second is not None and one.proposed is not None:
        for number in range(len(one.facts)):
            yield number in one.proposed, number in one.second


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
        # The judge of the pairs lets none through whose answer does not stand in its contexts.
        answerable=True,
    )
