"""Step 2: the best candidate of each class of a document set (Truly-Ground, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueground.benchmarks.base import Value
from trueground.builders.base import BatchStage
from trueground.builders.grounding.items import GroundedPair
from trueground.builders.grounding.questions.classify import Classified
from trueground.builders.grounding.settings import settle
from trueground.builders.rejected import Rejected
from trueground.text.normalize import get_normalizer

REASONS = {
    "not_the_best": "another question of the same class and document set is as good or better",
    "asked_elsewhere": "another document set has the same question",
}
_CLASSES = 4  # of one document set
_Class = tuple[str, str, str]  # set, documents, form


def best_stage(options: Mapping[str, Value]) -> BatchStage[Classified, GroundedPair]:
    """Classified candidates → pairs: for each set and class the one of the highest quality.

    Of equals the first counts; a question that an earlier set took is passed over. UsageError: an
    option that cannot be meant.
    """
    most = min(1.0, _CLASSES / settle(options).candidates)
    doc = "Keep the best pair of each class: one document or several, definite or free-form"
    return BatchStage("best", doc, Classified, GroundedPair, _best, REASONS, fan_out=most)


def _best(found: Sequence[Classified]) -> list[GroundedPair | Rejected]:
    classes: dict[_Class, list[Classified]] = {}
    for one in sorted(found, key=lambda one: one.id):
        pair = one.candidate
        classes.setdefault((pair.set.id, pair.documents, pair.form), []).append(one)
    kept: list[GroundedPair | Rejected] = []
    dropped: list[Rejected] = []
    asked: dict[str, GroundedPair] = {}
    for rivals in classes.values():
        best: GroundedPair | None = None
        for one in sorted(rivals, key=lambda one: (-one.quality, one.id)):
            question = _plain(one.candidate.question)
            if best is not None:
                detail = f"{one.quality}; {best.id} was chosen"
                dropped.append(Rejected("not_the_best", detail, id=one.id))
            elif question in asked:
                dropped.append(Rejected("asked_elsewhere", f"as {asked[question].id}", id=one.id))
            else:
                best = asked[question] = _pair(one)
                kept.append(best)
    return [*kept, *dropped]


def _pair(one: Classified) -> GroundedPair:
    found = one.candidate
    return GroundedPair(
        id=found.id,
        question=found.question,
        answer=found.answer,
        answers=found.answers,
        contexts=tuple(found.set.contexts[number - 1] for number in found.needed),
        popularity=found.set.popularity,
        documents=found.documents,
        form=found.form,
        set=found.set.id,
    )


def _plain(question: str) -> str:
    return get_normalizer("unicode-1", "").rule(question)
