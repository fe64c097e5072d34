"""Retrieval-augmented question answering (Adlakha et al. 2023): correct, faithful, or declined?

Only the declaration stands here, so that listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import Benchmark, Sources, Task, Value
from trueground.benchmarks.instruct_qa.options import OPTIONS
from trueground.benchmarks.studies import Studies


def _prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    from trueground.benchmarks.instruct_qa.task import prepare
    from trueground.benchmarks.registry import settled

    return prepare(task, settled(BENCHMARK, task, options), sources)


def _studies() -> Studies:
    from trueground.benchmarks.instruct_qa.studies import STUDIES

    return STUDIES


BENCHMARK = Benchmark(
    name="instruct-qa",
    doc="retrieval-augmented QA: correct, faithful to its passages, and declining where it should",
    source="Adlakha et al. 2023, Evaluating Correctness and Faithfulness",
    default_tasks=("questions",),
    other_tasks=("nq", "hotpotqa", "topiocqa"),
    options=OPTIONS,
    prepare=_prepare,
    studies=_studies,
)
