"""Step 4: key knowledge changed everywhere it stands (section 3.2, appendix A.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.base import CallEstimate, Material, Stage
from trueground.builders.grounding.conflict import changes, judging
from trueground.builders.grounding.facts.forms import forms
from trueground.builders.grounding.facts.supporting import REASONS, FactJudge
from trueground.builders.grounding.instances import (
    Conflict,
    Instance,
    KnowledgeChange,
    OriginalInstance,
    one_line,
)
from trueground.builders.grounding.prompting import (
    PACKAGE,
    answer_of,
    numbered,
    titled,
    tokens_of_contexts,
)
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import Prompt

_REASONS = (
    changes.REASONS
    | REASONS
    | {
        "contradiction": "something that was left unchanged contradicts the changed knowledge",
        "does_not_follow": "the judge does not find the new answer in the new contexts",
        "other_answer": "the new contexts support another answer too",
    }
)
_FORMS = "several ways of writing it, each as a text of its own"
_NO_FORMS = "here it is a text in sentences, so this list is empty"
Type = Literal["number", "date", "name", "place", "negation", "relation", "other"]


class _Change(msgspec.Struct):
    old: str
    new: str
    type: Type


class _Revision(msgspec.Struct):
    changes: list[_Change]
    question: str
    answer: str
    answers: list[str]
    contexts: list[str]
    facts: list[str]


def conflict_stage(
    material: Material, facts: FactJudge, words_of_context: int = 250
) -> Stage[OriginalInstance, Instance]:
    """Original versions → both versions; what has no sound conflicting version falls."""
    places = ("question", "answer", "contexts", "facts")
    writing = material.prompt(PACKAGE, "conflict-1", places, ("form", "mark"))
    judges = judging.prompts(material)

    async def work(item: OriginalInstance, ask: Ask) -> Sequence[Instance]:
        made = await _revised(item, ask, writing)
        try:
            changes.check_changes(item, made)
            await facts.check_supported(made.gold, [one.text for one in made.contexts])
            await judging.check_consistent(made, ask, judges)
            await judging.check_follows(item, made, ask, judges)
        except Rejected as rejected:
            rejected.content = msgspec.to_builtins(made)
            raise
        return [Instance(item.id, item, made)]

    def read(tokens: float) -> float:
        return tokens_of_contexts(tokens, words_of_context)

    return Stage(
        name="conflict",
        doc="Change the key knowledge everywhere it stands",
        takes=OriginalInstance,
        gives=Instance,
        work=work,
        reasons=_REASONS,
        identity={"fact_judge": facts.signature},
        prompts=(writing.file, judges.consistent.file, judges.follows.file),
        roles=("writer", "judge"),
        calls=[
            CallEstimate("writer", read, lambda tokens: read(tokens) + 200, 1, writing),
            CallEstimate("judge", read, 80, 2, judges.consistent),
            facts.calls(read),
        ],
    )


def no_conflict(items: Sequence[OriginalInstance]) -> list[Instance]:
    """The original version alone (--conflict none)."""
    return [Instance(item.id, item) for item in items]


async def _revised(item: OriginalInstance, ask: Ask, prompt: Prompt) -> Conflict:
    """The new version as the writer gave it, with the fields it must have. Raises Rejected."""
    pair, definite = item.pair, item.pair.form == "definite"
    contexts = titled(pair.contexts)
    answer = answer_of(pair.answer, pair.answers)
    listed = numbered(item.gold_texts)
    mark = mark_for([*contexts, listed], (pair.question, answer))
    filled = prompt.fill(
        {
            "question": block("QUESTION", pair.question, mark),
            "answer": block("ANSWER", answer, mark),
            "contexts": blocks("CONTEXT", contexts, mark),
            "facts": block("STATEMENTS", listed, mark),
            "form": _FORMS if definite else _NO_FORMS,
            "mark": mark,
        }
    )
    made = await ask.object("writer", filled, _Revision, check=lambda one: _check(one, item))
    new = [
        msgspec.structs.replace(old, text=_untitled(text, old.title))
        for old, text in zip(pair.contexts, made.contexts, strict=True)
    ]
    return Conflict(
        question=one_line(made.question),
        answer=made.answer,
        answers=forms(made.answers or [made.answer]) if definite else (),
        contexts=tuple(new),
        gold=tuple(map(one_line, made.facts)),
        changes=tuple(KnowledgeChange(one.old, one.new, one.type) for one in made.changes),
    )


def _check(made: _Revision, item: OriginalInstance) -> str | None:
    """What is wrong with the fields, in words for the writer."""
    counts = (
        ("contexts", made.contexts, len(item.pair.contexts)),
        ("facts", made.facts, len(item.gold)),
    )
    for name, found, expected in counts:
        if len(found) != expected:
            return f"the field {name} has {len(found)} texts; expected {expected}, as shown"
        if not all(text.strip() for text in found):
            return f"a text of the field {name} is empty"
    if not made.changes or not all(one.old and one.new for one in made.changes):
        return "the field changes is empty, or a phrase of it is; name what was replaced by what"
    if not made.question or not made.answer:
        return "the question or the answer is empty"
    if item.pair.form == "definite" and not forms(made.answers or [made.answer]):
        return "no form of the answer can be used: leave `|` and ` & ` out of it"
    return None


def _untitled(text: str, title: str) -> str:
    """Without the line of the title, which the writer was shown and may have copied."""
    first, _, rest = text.partition("\n")
    bare = first.strip().removeprefix("Title:").strip()
    return rest.strip() if rest.strip() and bare == title.strip() else text
