"""Truly-Ground (Lee et al. 2024): does an answer use all of its context that it needs, and no more?

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from trueground.benchmarks.base import Benchmark, TaskOptions
from trueground.benchmarks.studies import (
    Delta,
    Measure,
    PaperCode,
    PaperJudge,
    Scatter,
    Studies,
    Sweep,
)
from trueground.errors import UsageError
from trueground.options import Option

DISTRACTOR_SET = "2k_distractor"  # of the published file of distractors
_WITH_DISTRACTORS = {"dist": (True,)}


@dataclass(frozen=True, kw_only=True)
class TrulyGroundOptions(TaskOptions):
    """How a task is asked.

    A run of several tasks shares its options, so those about distractors may be given for every
    task. They have no effect on the -gold ones, whose identity they are no part of.
    """

    preset: Annotated[
        Literal["greedy", "paper", "llama2", "vicuna", "falcon", "tulu"],
        Option(
            "greedy: temperature 0; paper: the same, scored as the paper's code does, by its judge "
            "where none is named; llama2, vicuna, falcon: top-k 10 at temperature 1; tulu: "
            "temperature 0.6; each with at most 2,048 new tokens"
        ),
    ] = "greedy"
    distractors: Annotated[
        Path | None,
        Option(
            'file of distractors, {"Q0": {"2k_distractor": ["Title: …"]}}; without it and '
            "--retriever qId2distractor.json of the data, or else they are mined by bm25",
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    distractor_set: Annotated[str, Option("which set of that file", applies=_WITH_DISTRACTORS)] = (
        DISTRACTOR_SET
    )
    retriever: Annotated[
        str | None,
        Option(
            "mine distractors from the corpus with bm25 or dense:MODEL", applies=_WITH_DISTRACTORS
        ),
    ] = None
    corpus: Annotated[
        Path | None,
        Option(
            "folder of localDocId2localDocText.json and …title.json, if not the data's",
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    top: Annotated[
        int,
        Option("how many passages to mine for a question", min=1, applies=_WITH_DISTRACTORS),
    ] = 40
    budget: Annotated[
        int | None,
        Option(
            "tokens of all contexts together, the gold ones included; mined: 2048, a file: all it "
            "has",
            min=1,
            applies=_WITH_DISTRACTORS,
        ),
    ] = None
    gold_position: Annotated[
        Literal["random", "beginning", "middle", "end"],
        Option("where the gold contexts stand among the distractors", applies=_WITH_DISTRACTORS),
    ] = "random"
    position_seed: Annotated[
        int, Option("seed of the random position", min=0, applies=_WITH_DISTRACTORS)
    ] = 0
    tokenizer: Annotated[
        str | None,
        Option(
            "tokenizer.json, model folder or name that tokens are counted with; default: that of a "
            "model hf:…, else 4 characters a token",
            applies={"counts_tokens": (True,)},
        ),
    ] = None
    input_cap: Annotated[
        int | None,
        Option("most tokens of a prompt; distractors are left out to stay within it", min=1),
    ] = None
    fluency: Annotated[
        bool,
        Option("also rate the fluency of free-form answers (needs a rater: --rater)"),
    ] = False

    def __post_init__(self) -> None:
        if self.distractors is not None and self.retriever is not None:
            raise UsageError(
                "--distractors takes distractors from a file and --retriever mines new ones; give "
                "one of the two"
            )
        if self.distractors is not None and self.corpus is not None:
            raise UsageError("--corpus is for mining with --retriever; --distractors needs none")
        for name in ("distractors", "retriever", "corpus", "budget") * self.closed_book:
            if getattr(self, name) is not None:
                raise UsageError(
                    f"--{name} is for the tasks with distractors; truly-ground/no-context shows no "
                    "context at all: leave it out"
                )

    @property
    def version(self) -> str:
        """That of the questions and gold contexts, `original` or `conflict`."""
        return "conflict" if self.task.startswith("conflict") else "original"

    @property
    def dist(self) -> bool:
        return self.task.endswith("-dist")

    @property
    def counts_tokens(self) -> bool:
        """Whether contexts may have to fit into a number of tokens."""
        return self.dist or self.input_cap is not None

    @property
    def closed_book(self) -> bool:
        return self.task == "no-context"


_VERSIONS = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
_F1 = Measure("grounding_f1", "grounding F1")
_SINGLE = Measure("grounding_f1", "single context", part=("meta.contexts", "single"))
_MULTI = Measure("grounding_f1", "several contexts", part=("meta.contexts", "multi"))
_ACCURACY = Measure("answer_accuracy", "answer accuracy", "match=substring")
_ALL = (
    _F1,
    Measure("grounding_precision", "grounding precision"),
    Measure("grounding_recall", "grounding recall"),
    _ACCURACY,
)
# What only the versions with distractors have; the gold versions do not depend on it.
_DISTRACTORS = frozenset(
    ("budget", "gold-position", "position-seed", "distractors", "retriever", "top", "input-cap")
)
# Appendix C: 2,048 tokens; the gold contexts anywhere among the distractors.
_BUDGET, _POSITION = "2048", "random"
_OWN_SETS = {"2k_distractor": "2048", "4k_distractor": "4096"}


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """The same length and position; without distractors there is nothing to differ in.

    Mined distractors count as well as the paper's file, whose sets are named for their length.
    """
    if not task.endswith("-dist"):
        return not printed
    budget, position = printed.get("budget", _BUDGET), printed.get("gold-position", _POSITION)
    asked = options.get("budget", _BUDGET)
    if asked == "all":
        asked = _OWN_SETS.get(str(options.get("distractors")))
    return bool(asked == budget and options.get("gold-position", _POSITION) == position)


def _counted(options: Mapping[str, Any]) -> str:
    """Each model's own tokens are one way to count, however many models there are."""
    named = str(options.get("tokenizer", ""))
    return named if "characters" in named else "a tokenizer" * bool(named)


STUDIES = Studies(
    tasks=(*_VERSIONS, "no-context"),
    comparable=comparable,
    printed="Truly-Ground's its four versions at 2,048 tokens (trueground run truly-ground)",
    ignored=frozenset(("variant", "abstain")),
    own=frozenset(("preset", "tokenizer")),
    bound=_DISTRACTORS,
    alike={"tokens by which the budget was counted": _counted},
    judges=(
        # Section 3.3: the cross-encoder.
        PaperJudge(
            ("grounding_precision", "grounding_recall", "grounding_f1", "context_entails"),
            "judge", "ms-marco-MiniLM-L-12-v2", "numbers were judged",
        ),
    ),
    code=PaperCode(
        "grounding_",
        "variant=reference-code",
        "the published numbers are over all questions by the paper's own code, the runs are not. "
        "For numbers made in its way: trueground run truly-ground --preset paper.",
    ),
    studies=(
        Delta(
            id="versions",
            title="Grounding from version to version",
            measures=(*_ALL, _SINGLE, _MULTI),
            note="What each model keeps when distractors are added, and when a fact of the context "
            "is changed (section 4.2, Figure 5). The share lost is (before − after) / before; "
            "below 0, the model gained.",
            where={"task": _VERSIONS},
            places={version: {"task": (version,)} for version in _VERSIONS},
            steps=(
                ("original-gold", "original-dist"),
                ("conflict-gold", "conflict-dist"),
                ("original-gold", "conflict-gold"),
                ("original-dist", "conflict-dist"),
            ),
            named=(),
            lost=True,
            sizes=True,
            baseline=True,
        ),
        Scatter(
            id="groundingsizes",
            title="Grounding and model size",
            measures=(_F1, _SINGLE, _MULTI),
            note="Questions that need one context, and those that need several (Figures 3a and "
            "17). A size that the models table does not have is read from the name.",
            where={"task": _VERSIONS},
            sizes=True,
        ),
        *(
            Scatter(
                id="definitions",
                title="Earlier definitions beside the strict one",
                measures=(earlier, _F1),
                note="Grounding F1 (up) against an earlier definition (across): whether the answer "
                "stands in the response, which only definite questions have, or whether a context "
                "entails it (sections 3.1 and 4.2). A model can be high by the one and low by the "
                "other. Intervals resample the models.",
                where={"task": _VERSIONS},
            )
            for earlier in (_ACCURACY, Measure("context_entails", "context entails"))
        ),
        Sweep(
            id="lengths",
            title="Length of the context",
            measures=_ALL,
            note="Runs that differ in the tokens of all contexts only (Figure 4).",
            where={"task": _VERSIONS},
            by="budget",
        ),
        Sweep(
            id="positions",
            title="Position of the gold contexts",
            measures=_ALL,
            note="Runs that differ in where the gold contexts stand only (section 4.2).",
            where={"task": _VERSIONS},
            by="gold-position",
            order=("beginning", "middle", "end", "random"),
        ),
    ),
)  # fmt: skip

BENCHMARK = Benchmark(
    name="truly-ground",
    doc="strict grounding: all necessary knowledge of the contexts, and nothing else",
    source="Lee et al. 2024, How Well Do Large Language Models Truly Ground?",
    default_tasks=("original-gold", "original-dist", "conflict-gold", "conflict-dist"),
    other_tasks=("no-context",),
    options=TrulyGroundOptions,
    make="trueground.benchmarks.truly_ground.task:make_task",
    studies=STUDIES,
    judge=lambda given: "cross-encoder" if given.get("preset") == "paper" else "lexical",
)
