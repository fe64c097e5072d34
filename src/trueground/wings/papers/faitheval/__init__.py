"""FaithEval (Ming et al. 2024): unanswerable, inconsistent and counterfactual contexts.

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from trueground.benchmarks import Benchmark, TaskOptions, add_benchmark
from trueground.errors import UsageError
from trueground.options import Option
from trueground.wings.papers.faitheval.studies import STUDIES, TASKS


@dataclass(frozen=True, kw_only=True)
class FaithEvalOptions(TaskOptions):
    """Options of the FaithEval tasks."""

    scheme: Annotated[
        Literal["direct", "cot", "sampling"],
        Option(
            "direct and cot use temperature 0; cot also asks for the reasoning. "
            "sampling uses temperature 0.3 and top-p 0.9."
        ),
    ] = "direct"
    task_instruction: Annotated[
        Literal["auto", "on", "off"],
        Option('Whether to offer the answer "unknown" or "conflict". auto: if the task needs it.'),
    ] = "auto"
    documents: Annotated[
        Literal["both", "original", "new"],
        Option(
            "inconsistent: use both documents, or only one with its answer.",
            tasks=("inconsistent",),
        ),
    ] = "both"
    of: Annotated[
        Literal["unanswerable", "inconsistent", "counterfactual"],
        Option("original: task whose questions are used.", tasks=("original",)),
    ] = "unanswerable"
    closed_book: Annotated[
        bool,
        Option("original --of counterfactual: ask without context.", tasks=("original",)),
    ] = False
    original: Annotated[
        Path | None,
        Option(
            "File or folder with the original contexts and answers (MRQA) or keys (ARC-Challenge)."
        ),
    ] = None
    only_phrase_filtered: Annotated[
        Literal["off", "phrase", "words"],
        Option(
            "counterfactual: use only items whose context contains the answer "
            "phrase, or all its words.",
            tasks=("counterfactual",),
        ),
    ] = "off"

    def __post_init__(self) -> None:
        if self.task == "original" and self.choices and not self.closed_book:
            raise UsageError(
                "the questions of counterfactual come from ARC-Challenge, which has no original "
                "contexts. Add --closed-book to ask without a context and score by the original key"
            )
        if self.closed_book and not self.choices:
            raise UsageError(
                f"--closed-book is for --of counterfactual; the questions of {self.of} cannot be "
                "answered without their context"
            )
        if self.original is not None and self.task != "original" and not self.single:
            raise UsageError(
                "--original is for the task original, and for inconsistent with --documents "
                f"original or new. Leave it out for faitheval/{self.task}"
            )
        if self.task_instruction == "on" and self.choices:
            raise UsageError(
                "the paper has no task instruction for counterfactual; leave --task-instruction out"
            )

    @property
    def questions_of(self) -> str:
        """The task whose questions are asked."""
        return self.of if self.task == "original" else self.task

    @property
    def choices(self) -> bool:
        """Whether the questions are multiple choice."""
        return self.questions_of == "counterfactual"

    @property
    def single(self) -> bool:
        """Whether only one of the two inconsistent documents is shown."""
        return self.documents != "both"

    @property
    def instruction(self) -> bool:
        """Whether "unknown" or "conflict" is offered (sections 3.3 and 5)."""
        if self.task_instruction == "auto":
            return self.task in ("unanswerable", "inconsistent") and not self.single
        return self.task_instruction == "on"


BENCHMARK = Benchmark(
    name="faitheval",
    doc="unanswerable, inconsistent and counterfactual contexts",
    source="Ming et al. 2024, FaithEval",
    default_tasks=TASKS,
    other_tasks=("original",),
    options=FaithEvalOptions,
    make="trueground.wings.papers.faitheval.task:make_task",
    studies=STUDIES,
    package=__name__,
)
add_benchmark(BENCHMARK)
