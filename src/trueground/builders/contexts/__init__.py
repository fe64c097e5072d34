"""`build contexts`: unanswerable, inconsistent and counterfactual contexts (Ming et al. 2024).

Only the declaration stands here, so that listing builders loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import BenchmarkOption, Value
from trueground.builders.base import Builder, BuildPlan, Material, Role

_OPTIONS = (
    BenchmarkOption(
        "task",
        None,
        "unanswerable, inconsistent, counterfactual, or several with commas between. Default: all "
        "that the records allow",
    ),
    BenchmarkOption(
        "on-bad-row", "stop", "what a wrong row does: end all, or be left out", ("stop", "skip")
    ),
    BenchmarkOption(
        "require-answer",
        "yes",
        "leave out records whose answer does not stand in their context",
        ("yes", "no"),
    ),
    BenchmarkOption("max-context-words", "4000", "longer contexts are left out"),
    BenchmarkOption(
        "kept", "0.6", "inconsistent: share of the context's words that must be kept, 0 to 1"
    ),
    BenchmarkOption("kept-unanswerable", "0.4", "the same for unanswerable"),
    BenchmarkOption("min-words", "100", "counterfactual: the shortest context, in words"),
    BenchmarkOption(
        "phrase",
        "words",
        "counterfactual: the option must stand in the context as a phrase, or with all its words",
        ("words", "phrase"),
    ),
    BenchmarkOption("second-sample", "100", "how many items the second judge sees"),
    BenchmarkOption(
        "second",
        "keep",
        "what becomes of items that the second judge finds invalid",
        ("keep", "drop"),
    ),
    BenchmarkOption(
        "language",
        "check",
        "check: a context in another language falls; any: it may be in any",
        ("check", "any"),
    ),
)


def _prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    from trueground.builders.contexts.plan import prepare

    return prepare(options, material)


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
    options=_OPTIONS,
    prompts=(
        "answer",
        "unanswerable",
        "inconsistent",
        "counterfactual",
        "judge-unanswerable",
        "judge-inconsistent",
        "judge-counterfactual",
    ),
    prepare=_prepare,
)
