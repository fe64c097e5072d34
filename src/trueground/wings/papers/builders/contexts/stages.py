"""The stages of `build contexts`: an answer, a context that supports it, checks, verdicts.

Source: Ming et al. 2024, section 3 and appendix D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trueground.models import Prompt
from trueground.stats import TwoJudges
from trueground.wings.papers.builders.base import (
    BatchStage,
    LLMStage,
    Rejected,
    Stage,
    mark_fields,
    rejected_content,
)
from trueground.wings.papers.builders.checks import contains_phrase
from trueground.wings.papers.builders.contexts import ContextsOptions
from trueground.wings.papers.builders.contexts.checks import (
    ANSWER_REASONS,
    CONTEXT_REASONS,
    RULES,
    SECOND,
    UNKNOWN,
    VERDICT_REASONS,
    ContextQuestion,
    ContextVerdict,
    JudgedContext,
    Sample,
    Target,
    TaskName,
    WrittenContext,
    can_be_joined,
    check_answer,
    check_context,
    is_verdict,
    measure_kept,
    options_text,
    weigh,
)
from trueground.wings.papers.builders.sampling import choose, shuffle_key
from trueground.wings.papers.builders.settings import Material

_PACKAGE = "trueground.wings.papers.builders.contexts"
_NEEDED = ("question", "context", "new_answer")  # what a user's prompt must have, if it may
_TASK_REASONS = {
    "answer_not_in_context": "no form of the answer stands in the context, so it cannot be changed",
    "heading": "a line of the context begins as those that part the two documents",
}
# The places of each prompt.
_PLACES = ("question", "context", "answers", "mark")
_WRITE_PLACES = {
    "unanswerable": _PLACES,
    "inconsistent": (*_PLACES, "new_answer"),
    "counterfactual": ("question", "options", "answers", "new_answer", "words", "mark"),
}
_JUDGE_PLACES = {
    "unanswerable": _PLACES,
    "inconsistent": (*_PLACES, "new_answer"),
    "counterfactual": ("question", "context", "options", "new_answer", "mark"),
}


class NewAnswer(msgspec.Struct, frozen=True):
    """A made-up answer and the model's reason for it."""

    new_answer: str
    justification: str


class WithoutAnswer(msgspec.Struct, frozen=True):
    """A context without its evidence; `added` are the sentences woven in."""

    context: str
    added: list[str]
    justification: str


class WithNewAnswer(msgspec.Struct, frozen=True):
    """A changed context; `supported` and `replaced` are the two halves of the justification."""

    context: str
    evidence: list[str]
    supported: str
    replaced: str


class WithOption(msgspec.Struct, frozen=True):
    """A context that supports a wrong option."""

    context: str
    evidence: list[str]
    justification: str


def tasks_stage(options: ContextsOptions) -> BatchStage[ContextQuestion, Sample]:
    """Questions → samples, one for each task that the question allows."""

    def sample(question: ContextQuestion, task: TaskName) -> Sample | Rejected:
        name = f"{question.id}/{task}"
        stands = task == "counterfactual" or any(
            is_verdict(answer) or contains_phrase(question.context, answer)
            for answer in question.answers
        )
        if options.require_answer == "yes" and not stands:
            detail = f"none of {', '.join(map(repr, question.answers))} stands in the context"
            return Rejected("answer_not_in_context", detail, id=name)
        if task == "inconsistent" and not can_be_joined(question.context):
            detail = "a line begins with `Document:`; write it otherwise"
            return Rejected("heading", detail, id=name)
        return Sample(name, task, question)

    return BatchStage(
        "tasks",
        "Give each its tasks",
        Sample,
        lambda questions: [sample(one, task) for one in questions for task in one.tasks],
        _TASK_REASONS,
        2.0,
    )


def answer_stage(material: Material, options: ContextsOptions) -> LLMStage[Sample, Target]:
    """The answer that a new context is to support: drawn, none, or (inconsistent) made up."""

    def skip(sample: Sample) -> list[Target] | None:
        if sample.task == "unanswerable":
            return [Target(sample.id, sample.task, sample.source, UNKNOWN)]
        return [draw_option(sample, options.seed)] if sample.task == "counterfactual" else None

    def fields(sample: Sample) -> Mapping[str, str]:
        source = sample.source
        texts = {"context": source.context, "question": source.question}
        return mark_fields({**texts, "answers": "\n".join(source.answers)})

    def make(sample: Sample, reply: NewAnswer) -> list[Target]:
        answer = " ".join(reply.new_answer.split())
        check_answer(answer, sample.source)
        return [Target(sample.id, sample.task, sample.source, answer, why=reply.justification)]

    def show(sample: Sample, reply: NewAnswer) -> dict[str, Any]:
        question = {"question": sample.source.question, "old_answers": sample.source.answers}
        return question | msgspec.structs.asdict(reply)

    return LLMStage(
        name="answer",
        doc="Choose or make up the new answer",
        output_type=Target,
        role="writer",
        prompt=_prompt(material, "answer", _PLACES),
        reply=NewAnswer,
        skip=skip,
        fields=fields,
        make=make,
        show=show,
        reasons=ANSWER_REASONS,
        identity={"rules": RULES, "seed": options.seed},
        tokens_out=80,
    )


def draw_option(sample: Sample, seed: int) -> Target:
    """A wrong option, by seed and id; the order of the options does not matter. Rejected."""
    source = sample.source
    right = next(choice.text for choice in source.choices if choice.label == source.key)
    others = [
        choice
        for choice in source.choices
        if choice.label != source.key and choice.text.casefold() != right.casefold()
    ]
    if not others:
        raise Rejected("same_answer", "every other option reads as the right one")
    chosen = choose(f"option/{seed}", sample.id, others, lambda choice: choice.label)
    return Target(sample.id, sample.task, source, chosen.text, chosen.label)


def write_stage(material: Material, options: ContextsOptions) -> LLMStage[Target, WrittenContext]:
    """The new context, and the model's account of it; nothing of either is believed here."""

    def check(_target: Target, reply: msgspec.Struct) -> str | None:
        for name, value in msgspec.structs.asdict(reply).items():
            if isinstance(value, str) and not value.strip():
                return f"the field {name!r} is blank"
        return None

    def make(target: Target, reply: Any) -> list[WrittenContext]:
        if isinstance(reply, WithNewAnswer):
            named, why = reply.evidence, f"{reply.supported}\n{reply.replaced}"
        else:
            named = reply.added if isinstance(reply, WithoutAnswer) else reply.evidence
            why = reply.justification
        return [WrittenContext(target.id, target, reply.context.strip(), tuple(named), why)]

    return LLMStage(
        name="write",
        doc="Write the new context",
        output_type=WrittenContext,
        role="writer",
        prompt=_prompts(material, ""),
        reply={
            "unanswerable": WithoutAnswer,
            "inconsistent": WithNewAnswer,
            "counterfactual": WithOption,
        },
        variant=lambda target: target.task,
        fields=lambda target: _fields(target, target.source.context, options.min_words),
        check=check,
        make=make,
        identity={"min_words": options.min_words},
        tokens_out=lambda source: source + 200,
    )


def check_stage(options: ContextsOptions) -> Stage[WrittenContext, WrittenContext]:
    """Rejects what fails a check, and notes how much of the original was kept."""

    async def work(written: WrittenContext, _ask: Any) -> Sequence[WrittenContext]:
        with rejected_content(written.refused):
            check_context(written, options)
        return [msgspec.structs.replace(written, share_kept=measure_kept(written))]

    names = ("kept", "kept_unanswerable", "min_words", "max_context_words", "phrase", "language")
    identity = {"rules": RULES, **{name: getattr(options, name) for name in names}}
    return Stage(
        "check",
        "Check the text",
        WrittenContext,
        work,
        CONTEXT_REASONS,
        identity,
    )


def judge_stage(material: Material) -> LLMStage[WrittenContext, JudgedContext]:
    """What speaks against the context is noted; a later stage rejects it."""
    return LLMStage(
        name="judge",
        doc="Ask the judge",
        output_type=JudgedContext,
        role="judge",
        prompt=_prompts(material, "judge-"),
        reply=ContextVerdict,
        variant=lambda written: written.target.task,
        fields=lambda written: _fields(written.target, written.context),
        make=lambda written, verdict: [
            JudgedContext(written.id, written, verdict, weigh(written, verdict))
        ],
        identity={"rules": RULES},
    )


def sample_stage(options: ContextsOptions) -> BatchStage[JudgedContext, JudgedContext]:
    """Marks the items that the second judge sees, by seed and id."""

    def work(items: Sequence[JudgedContext]) -> list[JudgedContext]:
        order = sorted(items, key=lambda one: shuffle_key(f"second/{options.seed}", one.id))
        chosen = {one.id for one in order[: options.second_sample]}
        return [msgspec.structs.replace(one, sampled=one.id in chosen) for one in items]

    doc = "Draw those that are judged again"
    return BatchStage("sample", doc, JudgedContext, work)


def second_stage(
    material: Material, options: ContextsOptions
) -> LLMStage[JudgedContext, JudgedContext]:
    """With --second keep an unreadable reply of the second judge loses no item."""

    def make(judged: JudgedContext, second: ContextVerdict) -> list[JudgedContext]:
        against = weigh(judged.written, second)
        return [msgspec.structs.replace(judged, second=second, second_against=against)]

    return LLMStage(
        name="second",
        doc="Ask the second judge",
        output_type=JudgedContext,
        role="second-judge",
        prompt=_prompts(material, "judge-"),
        reply=ContextVerdict,
        variant=lambda judged: judged.written.target.task,
        fields=lambda judged: _fields(judged.written.target, judged.written.context),
        skip=lambda judged: None if judged.sampled else [judged],
        make=make,
        unusable=None if options.second == "drop" else lambda judged: [judged],
        identity={"rules": RULES, "drops": options.second == "drop"},
        max_calls=options.second_sample,
    )


class ValidStage:
    """The stage that rejects what a judge finds invalid; it notes how two judges agree."""

    def __init__(self, options: ContextsOptions) -> None:
        self._drops = options.second == "drop"
        self._judged_twice: Sequence[JudgedContext] = ()
        doc = "Let fall what a judge finds invalid"
        self.stage: BatchStage[JudgedContext, JudgedContext] = BatchStage(
            "valid", doc, JudgedContext, self._work, VERDICT_REASONS
        )

    def agreement(self) -> dict[str, Any] | None:
        """How two judges agree on what is valid, before anything falls; None without a second one.

        {"items", "agreement": share, "kappa", "kappa_ci": 95%, by question, "table"}; `table` has
        the first judge's verdicts as rows, the second's as columns; valid comes first.
        """
        if not self._judged_twice:
            return None
        pairs = [(one.against is None, one.second_against is None) for one in self._judged_twice]
        found = TwoJudges.of(pairs, [one.written.target.source.id for one in self._judged_twice])
        return {
            "items": found.n,
            "agreement": found.agreement,
            "kappa": found.kappa,
            "kappa_ci": found.kappa_ci,
            "table": found.table.tolist(),
        }

    def _work(self, items: Sequence[JudgedContext]) -> list[JudgedContext | Rejected]:
        self._judged_twice = [one for one in items if one.second is not None]
        found: list[JudgedContext | Rejected] = []
        for one in items:
            why, second = one.against, one.second_against
            if why is None and second is not None and self._drops:
                why = (SECOND, f"{second[0]}: {second[1]}")
            verdicts = {"verdict": one.verdict, "second_verdict": one.second}
            shown = one.written.refused() | verdicts
            found.append(one if why is None else Rejected(*why, shown, id=one.id))
        return found


def _fields(target: Target, context: str, min_words: int = 0) -> dict[str, str]:
    """All that is not ours stands between marks."""
    source = target.source
    texts = {
        "context": context,
        "question": source.question,
        "answers": "\n".join(target.old_answers),
        "new_answer": target.answer,
        "options": options_text(source.choices),
    }
    return {**mark_fields(texts), "words": str(max(min_words, 1))}


def _prompts(material: Material, before: str) -> dict[str, Prompt]:
    places = _JUDGE_PLACES if before else _WRITE_PLACES
    return {task: _prompt(material, f"{before}{task}", some) for task, some in places.items()}


def _prompt(material: Material, name: str, places: Sequence[str]) -> Prompt:
    needed = [place for place in places if place in _NEEDED]
    return material.prompt(_PACKAGE, f"{name}-1", needed, set(places) - set(needed))
