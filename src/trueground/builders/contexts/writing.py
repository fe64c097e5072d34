"""The new context, and the model's account of it (Ming et al. 2024, section 3, appendix D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.contexts.items import Target, TaskName, WrittenContext
from trueground.builders.contexts.sizes import SampleSizes, around
from trueground.models.base import Message
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt
from trueground.types import Choice

PLACES: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "context", "answers", "mark"),
    "inconsistent": ("question", "context", "answers", "new_answer", "mark"),
    "counterfactual": ("question", "options", "answers", "new_answer", "words", "mark"),
}


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


def make_writing(
    prompts: Mapping[TaskName, Prompt], min_words: int, sizes: SampleSizes
) -> Stage[Target, WrittenContext]:
    """A prompt and a form of reply for each task. Nothing of the reply is believed here."""

    async def work(target: Target, ask: Ask) -> Sequence[WrittenContext]:
        messages = prompt_messages(prompts[target.task], target, target.source.context, min_words)
        return [await _written(target, messages, ask)]

    return Stage(
        "write",
        "Write the new context",
        Target,
        WrittenContext,
        work,
        identity={"min_words": min_words},
        prompts=[prompt.file for prompt in prompts.values()],
        roles=("writer",),
        calls=[
            CallEstimate(
                "writer",
                lambda _: sizes.source() + around(*prompts.values()),
                lambda _: sizes.made() + 200,
            )
        ],
    )


def prompt_messages(
    prompt: Prompt, target: Target, context: str, min_words: int = 0
) -> tuple[Message, ...]:
    """The prompt filled for this target and context; all that is not ours stands between marks."""
    source = target.source
    answers = "\n".join(target.old_answers)
    options = options_text(source.choices)
    mark = mark_for([context, source.question, answers, target.answer, options])
    return prompt.fill(
        {
            "question": block("QUESTION", source.question, mark),
            "context": block("CONTEXT", context, mark),
            "answers": block("ANSWERS", answers, mark),
            "new_answer": block("NEW ANSWER", target.answer, mark),
            "options": block("OPTIONS", options, mark),
            "words": str(max(min_words, 1)),
            "mark": mark,
        }
    )


def options_text(choices: Sequence[Choice]) -> str:
    """The options, one a line."""
    return "\n".join(f"{choice.label}. {choice.text}" for choice in choices)


async def _written(target: Target, messages: Sequence[Message], ask: Ask) -> WrittenContext:
    if target.task == "unanswerable":
        gone = await ask.object("writer", messages, WithoutAnswer, check=_blank)
        return _made(target, gone.context, gone.added, gone.justification)
    if target.task == "inconsistent":
        new = await ask.object("writer", messages, WithNewAnswer, check=_blank)
        return _made(target, new.context, new.evidence, f"{new.supported}\n{new.replaced}")
    option = await ask.object("writer", messages, WithOption, check=_blank)
    return _made(target, option.context, option.evidence, option.justification)


def _made(target: Target, context: str, evidence: Sequence[str], why: str) -> WrittenContext:
    return WrittenContext(target.id, target, context.strip(), tuple(evidence), why)


def _blank(made: msgspec.Struct) -> str | None:
    """Which text field says nothing."""
    for name, value in msgspec.structs.asdict(made).items():
        if isinstance(value, str) and not value.strip():
            return f"the field {name!r} is blank"
    return None
