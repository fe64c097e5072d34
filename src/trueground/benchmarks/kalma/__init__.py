"""KaLMA (Li et al. 2024): answers that cite triples of a knowledge graph, and say what is missing.

Only the declaration stands here, so that listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import Benchmark, Sources, Task, Value
from trueground.benchmarks.kalma.options import OPTIONS
from trueground.benchmarks.studies import Studies


def _prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    from trueground.benchmarks.kalma.task import prepare
    from trueground.benchmarks.registry import settled

    return prepare(task, settled(BENCHMARK, task, options), sources)


def _studies() -> Studies:
    from trueground.benchmarks.kalma.studies import STUDIES

    return STUDIES


BENCHMARK = Benchmark(
    name="kalma",
    doc="citations of a knowledge graph: right, needed, complete; [NA] where knowledge is missing",
    source="Li et al. 2024, Towards Verifiable Generation: A Benchmark for Knowledge-aware "
    "Language Model Attribution",
    default_tasks=("specific", "general"),
    other_tasks=("questions",),
    options=OPTIONS,
    prepare=_prepare,
    studies=_studies,
)
