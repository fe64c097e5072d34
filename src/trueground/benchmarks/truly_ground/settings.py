"""What is asked, from the options: which combinations can be meant, and what the defaults are.

A run of several tasks shares its options, so those about distractors are read for every task and
have no effect on the -gold ones, whose identity they are no part of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.values import number_of, path_of, text_of
from trueground.errors import UsageError
from trueground.models.base import Params

OUTPUT_CAP = 2048
MINED_BUDGET = 2048
# Appendix C. Sampling is written out: without a temperature, local models answer greedily.
_PRESETS = {
    "greedy": Params(temperature=0.0, max_tokens=OUTPUT_CAP),
    "paper": Params(temperature=0.0, max_tokens=OUTPUT_CAP),
    "tulu": Params(temperature=0.6, max_tokens=OUTPUT_CAP),
} | {
    name: Params(temperature=1.0, top_k=10, max_tokens=OUTPUT_CAP)
    for name in ("llama2", "vicuna", "falcon")
}
_OF_DISTRACTORS = ("distractors", "retriever", "corpus", "budget")


@dataclass(frozen=True)
class TrulyGroundSettings:
    """A task with its options read; None where the user has said nothing.

    `version` is that of the questions and gold contexts, `original` or `conflict`.
    """

    task: str
    preset: str
    distractors: Path | None
    distractor_set: str
    retriever: str | None
    corpus: Path | None
    top: int
    budget: int | None
    position: str
    seed: int
    tokenizer: str | None
    input_cap: int | None
    fluency: bool

    @property
    def version(self) -> str:
        """Which version is asked."""
        return "conflict" if self.task.startswith("conflict") else "original"

    @property
    def dist(self) -> bool:
        """Whether distractors are shown."""
        return self.task.endswith("-dist")

    @property
    def closed_book(self) -> bool:
        """Whether no context is shown."""
        return self.task == "no-context"

    @property
    def params(self) -> Params:
        """What the preset asks of the model (appendix C)."""
        return _PRESETS[self.preset]


def read_settings(task: str, options: Mapping[str, Value]) -> TrulyGroundSettings:
    """The settings of a task; UsageError for values that cannot be meant, alone or together."""
    distractors, corpus = path_of(options, "distractors"), path_of(options, "corpus")
    retriever = text_of(options, "retriever")
    if distractors is not None and retriever is not None:
        raise UsageError(
            "--distractors takes distractors from a file and --retriever mines new ones; give one "
            "of the two"
        )
    if distractors is not None and corpus is not None:
        raise UsageError("--corpus is for mining with --retriever; --distractors needs none")
    if task == "no-context":
        _check_unused(options)
    return TrulyGroundSettings(
        task=task,
        preset=str(options["preset"]),
        distractors=distractors,
        distractor_set=str(options["distractor-set"]),
        retriever=retriever,
        corpus=corpus,
        top=number_of(options, "top", 1) or 0,
        budget=number_of(options, "budget", 1),
        position=str(options["gold-position"]),
        seed=number_of(options, "position-seed", 0) or 0,
        tokenizer=text_of(options, "tokenizer"),
        input_cap=number_of(options, "input-cap", 1),
        fluency=bool(options["fluency"]),
    )


def _check_unused(options: Mapping[str, Value]) -> None:
    given = [name for name in _OF_DISTRACTORS if options[name] is not None]
    if given:
        raise UsageError(
            f"--{given[0]} is for the tasks with distractors; truly-ground/no-context shows no "
            "context at all: leave it out"
        )
