"""Step 2: candidate question-answer pairs of a document set (Truly-Ground, A.2)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from trueground.benchmarks.base import Value
from trueground.builders.asking.ask import Ask
from trueground.builders.base import CallEstimate, Material, Stage
from trueground.builders.checks import need_languages
from trueground.builders.grounding.items import DocumentSet
from trueground.builders.grounding.prompting import PACKAGE, titled, tokens_of_contexts
from trueground.builders.grounding.questions.proposals import (
    REASONS,
    Proposals,
    QuestionCandidate,
    checked,
)
from trueground.builders.grounding.settings import settle
from trueground.builders.rejected import Rejected
from trueground.models.marks import blocks, mark_for

_TOKENS_A_PAIR = 120.0
_SEVERAL = (
    "- Where the documents allow it, some questions should need both of them: the answer can only "
    "be given by putting together what stands in the one and in the other. Never put two questions "
    "side by side that have nothing to do with one another.\n"
)


def candidates_stage(
    material: Material, options: Mapping[str, Value]
) -> Stage[DocumentSet, QuestionCandidate]:
    """Document sets → candidates that stand up to the checks. One call of the writer for each set.

    UsageError, InputError: an option or a prompt of the user's that cannot be meant.
    MissingExtraError: languages cannot be told apart.
    """
    need_languages()  # before anything is paid
    choosing = settle(options)
    count = choosing.candidates
    optional = ("count", "documents", "several")
    prompt = material.prompt(PACKAGE, "candidates-1", ("contexts",), optional)

    async def work(found: DocumentSet, ask: Ask) -> list[QuestionCandidate | Rejected]:
        said = await ask.object("writer", prompt.fill(_places(found, count)), Proposals)
        return _sorted_out(found, said, count)

    def read(tokens: float) -> float:
        return tokens_of_contexts(tokens, choosing.context_words)

    return Stage(
        "candidates",
        f"Write {count} question-answer pairs for each document set",
        DocumentSet,
        QuestionCandidate,
        work,
        REASONS,
        {"count": count},
        (prompt.file,),
        ("writer",),
        [CallEstimate("writer", read, count * _TOKENS_A_PAIR, 1, prompt)],
        fan_out=float(count),
    )


def _places(found: DocumentSet, count: int) -> dict[str, str]:
    texts = titled(found.contexts)
    return {
        "contexts": blocks("DOCUMENT", texts, mark_for(texts)),
        "count": str(count),
        "documents": "a document" if len(texts) == 1 else "two documents",
        "several": _SEVERAL if len(texts) > 1 else "",
    }


def _sorted_out(of: DocumentSet, said: Proposals, count: int) -> list[QuestionCandidate | Rejected]:
    if not said.pairs:
        raise Rejected("no_candidates", "the list of pairs is empty")
    kept: list[QuestionCandidate] = []
    dropped: list[Rejected] = []
    for number, one in enumerate(said.pairs, start=1):
        id_ = f"{of.id}/q{number:02}"
        if number > count:
            came = f"{len(said.pairs)} came"
            dropped.append(Rejected("beyond_the_asked", came, msgspec.to_builtins(one), id=id_))
            continue
        try:
            kept.append(checked(id_, one, of, kept))
        except Rejected as rejected:
            made = msgspec.to_builtins(one)
            dropped.append(Rejected(rejected.reason, rejected.detail, made, id=id_))
    return [*kept, *dropped]
