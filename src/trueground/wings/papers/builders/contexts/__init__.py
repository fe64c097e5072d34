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
            "unanswerable, inconsistent, counterfactual, or several, "
            "comma-separated. Default: all that the records allow.",
            unset=True,
        ),
    ] = ()
    on_bad_row: Annotated[
        Literal["stop", "skip"], Option("Whether to stop at an invalid row or skip it.")
    ] = "stop"
    require_answer: Annotated[
        Literal["yes", "no"],
        Option("Skip records whose answer is not in their context."),
    ] = "yes"
    max_context_words: Annotated[int, Option("Skip longer contexts.", min=1)] = 4_000
    kept: Annotated[
        float,
        Option("inconsistent: minimum share of the context's words to keep, 0 to 1.", min=0, max=1),
    ] = 0.6
    kept_unanswerable: Annotated[
        float, Option("unanswerable: minimum share of words to keep, 0 to 1.", min=0, max=1)
    ] = 0.4
    min_words: Annotated[int, Option("counterfactual: minimum words per context.", min=0)] = 100
    phrase: Annotated[
        Literal["words", "phrase"],
        Option("counterfactual: require the option in the context as a phrase, or all its words."),
    ] = "words"
    second_sample: Annotated[int, Option("Number of items that the second judge sees.", min=1)] = (
        100
    )
    second: Annotated[
        Literal["keep", "drop"],
        Option("Whether to keep items that the second judge finds invalid."),
    ] = "keep"
    language: Annotated[
        Literal["check", "any"],
        Option("check: skip contexts in another language. any: accept any language."),
    ] = "check"


BUILDER = Builder(
    name="contexts",
    doc="Unanswerable, inconsistent or counterfactual contexts",
    source="Ming et al. 2024, FaithEval",
    takes="files or folders of records with question, context and answers, or with choices and "
    "answerKey",
    roles=(
        Role("writer", "model that writes the new contexts"),
        Role("judge", "Model that judges the contexts. Use another model than the writer."),
        Role("second-judge", "Model that judges a sample again, for comparison.", needed=False),
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
