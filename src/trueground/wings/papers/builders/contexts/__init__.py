"""`build contexts`: unanswerable, inconsistent and counterfactual contexts (Ming et al. 2024).

Only the declaration stands here, so that listing builders loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from trueground.options import Option, declared_options
from trueground.wings.papers.builders.base import Builder, Role, prepare_in
from trueground.wings.papers.builders.registry import add_builder


@dataclass(frozen=True, kw_only=True)
class ContextsOptions:
    """How contexts are made and checked. `seed` is the build's."""

    seed: int = 0
    task: Annotated[
        tuple[str, ...],
        Option(
            "unanswerable, inconsistent, counterfactual, or several with commas between. Default: "
            "all that the records allow",
            unset=True,
        ),
    ] = ()
    on_bad_row: Annotated[
        Literal["stop", "skip"], Option("what a wrong row does: end all, or be left out")
    ] = "stop"
    require_answer: Annotated[
        Literal["yes", "no"],
        Option("leave out records whose answer does not stand in their context"),
    ] = "yes"
    max_context_words: Annotated[int, Option("longer contexts are left out", min=1)] = 4_000
    kept: Annotated[
        float,
        Option(
            "inconsistent: share of the context's words that must be kept, 0 to 1", min=0, max=1
        ),
    ] = 0.6
    kept_unanswerable: Annotated[float, Option("the same for unanswerable", min=0, max=1)] = 0.4
    min_words: Annotated[int, Option("counterfactual: the shortest context, in words", min=0)] = 100
    phrase: Annotated[
        Literal["words", "phrase"],
        Option(
            "counterfactual: the option must stand in the context as a phrase, or with all its "
            "words"
        ),
    ] = "words"
    second_sample: Annotated[int, Option("how many items the second judge sees", min=1)] = 100
    second: Annotated[
        Literal["keep", "drop"],
        Option("what becomes of items that the second judge finds invalid"),
    ] = "keep"
    language: Annotated[
        Literal["check", "any"],
        Option("check: a context in another language falls; any: it may be in any"),
    ] = "check"


BUILDER = Builder(
    name="contexts",
    doc="Contexts without an answer, with two answers, or against what everybody knows",
    source="Ming et al. 2024, FaithEval",
    takes="files or folders of records with question, context and answers, or with choices and "
    "answerKey",
    roles=(
        Role("writer", "who writes the new contexts"),
        Role("judge", "who judges them: better another model than the writer."),
        Role("second-judge", "who judges a sample of them again, to compare.", needed=False),
    ),
    options=declared_options(ContextsOptions),
    prompts=(
        "answer",
        "unanswerable",
        "inconsistent",
        "counterfactual",
        "judge-unanswerable",
        "judge-inconsistent",
        "judge-counterfactual",
    ),
    prepare=prepare_in(f"{__name__}.plan"),
)
add_builder(BUILDER)
