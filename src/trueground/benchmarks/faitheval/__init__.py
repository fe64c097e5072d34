"""FaithEval (Ming et al. 2024): unanswerable, inconsistent and counterfactual contexts.

Only the declaration stands here, so that listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import Benchmark, BenchmarkOption, Sources, Task, Value
from trueground.benchmarks.studies import Studies

_OPTIONS = (
    BenchmarkOption(
        "scheme",
        "direct",
        "direct and cot: temperature 0, cot asks for the answer and then for the reasoning; "
        "sampling: temperature 0.3, top-p 0.9",
        ("direct", "cot", "sampling"),
    ),
    BenchmarkOption(
        "task-instruction",
        "auto",
        'whether to offer the answer "unknown" or "conflict"; auto: where the task is about it',
        ("auto", "on", "off"),
    ),
    BenchmarkOption(
        "documents",
        "both",
        "inconsistent: both documents, or one of them, scored against its own answer",
        ("both", "original", "new"),
    ),
    BenchmarkOption(
        "of",
        "unanswerable",
        "original: whose questions are asked",
        ("unanswerable", "inconsistent", "counterfactual"),
    ),
    BenchmarkOption("closed-book", False, "original --of counterfactual: ask without a context"),
    BenchmarkOption(
        "original",
        None,
        "file or folder with the original contexts and answers (MRQA) or keys (ARC-Challenge)",
    ),
    BenchmarkOption(
        "only-phrase-filtered",
        "off",
        "counterfactual: only items whose answer phrase, or all words of it, stand in the context",
        ("off", "phrase", "words"),
    ),
)


def _prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    from trueground.benchmarks.faitheval.task import prepare
    from trueground.benchmarks.registry import settled

    return prepare(task, settled(BENCHMARK, task, options), sources)


def _studies() -> Studies:
    from trueground.benchmarks.faitheval.studies import STUDIES

    return STUDIES


BENCHMARK = Benchmark(
    name="faitheval",
    doc="faithfulness to unanswerable, inconsistent and counterfactual contexts",
    source="Ming et al. 2024, FaithEval",
    default_tasks=("unanswerable", "inconsistent", "counterfactual"),
    other_tasks=("original",),
    options=_OPTIONS,
    prepare=_prepare,
    studies=_studies,
)
