"""Truly-Ground (Lee et al. 2024): answers that use all necessary context, and nothing else.

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from trueground.benchmarks import Benchmark, TaskOptions, add_benchmark
from trueground.errors import UsageError
from trueground.options import Option
from trueground.wings.papers.truly_ground.studies import STUDIES

DISTRACTOR_SET = "2k_distractor"  # In the published file of distractors.
_WITH_DISTRACTORS = {"dist": (True,)}


@dataclass(frozen=True, kw_only=True)
class TrulyGroundOptions(TaskOptions):
    """Options of the Truly-Ground tasks.

    A run of several tasks shares its options, so every task accepts the options for distractors.
    They have no effect on the -gold tasks.
    """

    preset: Annotated[
        Literal["greedy", "paper", "llama2", "vicuna", "falcon", "tulu"],
        Option(
            "greedy: temperature 0. paper: the same, scored like the paper's code. "
            "llama2, vicuna, falcon: top-k 10, temperature 1. tulu: temperature "
            "0.6. All: at most 2,048 tokens."
        ),
    ] = "greedy"
    distractors: Annotated[
        Path | None,
        Option(
            (
                'File of distractors, {"Q0": {"2k_distractor": ["Title: text"]}}. '
                "Default: qId2distractor.json of the data, or mined with bm25."
            ),
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    distractor_set: Annotated[
        str, Option("Set of distractors in the file.", applies=_WITH_DISTRACTORS)
    ] = DISTRACTOR_SET
    retriever: Annotated[
        str | None,
        Option(
            ("Retriever that mines distractors from the corpus: bm25 or dense:MODEL."),
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    corpus: Annotated[
        Path | None,
        Option(
            ("Folder with localDocId2localDocText.json and the titles. Default: from the data."),
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    top: Annotated[
        int,
        Option("Number of passages to mine per question.", min=1, applies=_WITH_DISTRACTORS),
    ] = 40
    budget: Annotated[
        int | None,
        Option(
            ("Maximum tokens of all contexts. Default: 2048 if mined, unlimited for a file."),
            min=1,
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    gold_position: Annotated[
        Literal["random", "beginning", "middle", "end"],
        Option("Position of the gold contexts among the distractors.", applies=_WITH_DISTRACTORS),
    ] = "random"
    position_seed: Annotated[
        int, Option("Random seed of the position.", min=0, applies=_WITH_DISTRACTORS)
    ] = 0
    tokenizer: Annotated[
        str | None,
        Option(
            "Tokenizer that counts tokens: tokenizer.json, model folder or name. "
            "Default: the tokenizer of an hf: model, or 4 characters per token.",
            applies={"counts_tokens": (True,)},
        ),
    ] = None
    input_cap: Annotated[
        int | None,
        Option("Maximum tokens per prompt; distractors are dropped to fit.", min=1),
    ] = None
    fluency: Annotated[
        bool,
        Option("Also rate the fluency of free-form answers. Requires --rater."),
    ] = False

    def __post_init__(self) -> None:
        if self.distractors is not None and self.retriever is not None:
            raise UsageError(
                "--distractors takes distractors from a file, and --retriever mines new ones. Use "
                "only one of the two"
            )
        if self.distractors is not None and self.corpus is not None:
            raise UsageError(
                "--corpus is for mining with --retriever. Leave it out with --distractors"
            )
        if self.closed_book:
            self._reject_distractor_options()

    def _reject_distractor_options(self) -> None:
        values = {
            "distractors": self.distractors,
            "retriever": self.retriever,
            "corpus": self.corpus,
            "budget": self.budget,
        }
        for name, value in values.items():
            if value is not None:
                raise UsageError(
                    f"--{name} is for the tasks with distractors. Leave it out for "
                    "truly-ground/no-context, which has no contexts"
                )

    @property
    def version(self) -> str:
        """Version of the questions and gold contexts: `original` or `conflict`."""
        return "conflict" if self.task.startswith("conflict") else "original"

    @property
    def dist(self) -> bool:
        """Whether the task has distractors."""
        return self.task.endswith("-dist")

    @property
    def counts_tokens(self) -> bool:
        """Whether contexts may be limited to a number of tokens."""
        return self.dist or self.input_cap is not None

    @property
    def closed_book(self) -> bool:
        """Whether the task has no contexts."""
        return self.task == "no-context"


BENCHMARK = Benchmark(
    name="truly-ground",
    doc="strict grounding: all necessary facts and nothing else",
    source="Lee et al. 2024, How Well Do Large Language Models Truly Ground?",
    default_tasks=("original-gold", "original-dist", "conflict-gold", "conflict-dist"),
    other_tasks=("no-context",),
    options=TrulyGroundOptions,
    make="trueground.wings.papers.truly_ground.task:make_task",
    studies=STUDIES,
    judge=lambda options: "cross-encoder" if options.get("preset") == "paper" else "lexical",
    package=__name__,
)
add_benchmark(BENCHMARK)
