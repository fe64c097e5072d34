"""What the questions of a benchmark's tasks are like, beside what its paper says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Benchmark, Sources
from trueground.benchmarks.published import published
from trueground.errors import unknown_name
from trueground.records.columns import field_text
from trueground.types import Record


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)


# What is averaged over questions; a field that no question has is left out. A word is what stands
# between white space; a reference that a question has twice counts once.
_MEANS: dict[str, Callable[[Record], float | None]] = {
    "question_words": lambda r: None if r.question is None else _words([r.question]),
    "turns": lambda r: None if not r.history else len(r.history),
    "references": lambda r: None if not r.references else len(set(r.references)),
    "reference_words": lambda r: (
        None if not r.references else _words([*set(r.references)]) / len(set(r.references))
    ),
    "contexts": lambda r: None if not r.contexts else len(r.contexts),
    "context_words": lambda r: None if not r.contexts else _words([c.text for c in r.contexts]),
    "gold_facts": lambda r: None if not r.gold_facts else len(r.gold_facts),
    "choices": lambda r: None if not r.choices else len(r.choices),
    "graphs": lambda r: None if not r.knowledge else len(r.knowledge),
    "minimum_set_size": lambda r: None if not r.gold_knowledge else len(r.gold_knowledge),
}


@dataclass(frozen=True)
class TaskStatistics:
    """Numbers of a task's questions.

    `means` are over the questions that have the field; `shares` are of questions, by "field=value"
    of what the task is broken down by; `published` are the paper's of the same names, "questions"
    among them.
    """

    name: str
    questions: int
    groups: int
    means: dict[str, float]
    shares: dict[str, float]
    published: dict[str, float]


def task_statistics(benchmark: Benchmark, task: str, sources: Sources) -> TaskStatistics:
    """Read all questions of a task under its default options. InputError, UsageError."""
    prepared = benchmark.prepare(task, {}, sources)
    n, totals, having = 0, Counter[str](), Counter[str]()
    parts, groups = Counter[str](), set[str]()
    for question in prepared.questions():
        record = question.record
        n += 1
        groups |= set() if record.group is None else {record.group}
        for name, measure in _MEANS.items():
            if (value := measure(record)) is not None:
                totals[name] += value  # type: ignore[assignment]
                having[name] += 1
        for field in prepared.by:
            if (value_text := field_text(record, field)) is not None:
                parts[f"{field.removeprefix('meta.')}={value_text}"] += 1
    return TaskStatistics(
        name=f"{benchmark.name}/{task}",
        questions=n,
        groups=len(groups),
        means={name: totals[name] / having[name] for name in _MEANS if having[name]},
        shares={name: count / n for name, count in sorted(parts.items())},
        published=_published(benchmark.name, task, {"questions", *_MEANS, *parts}),
    )


def benchmark_statistics(name: str, data: Path | None) -> list[TaskStatistics]:
    """The numbers of a benchmark's tasks, NAME, or of one, NAME/TASK. InputError, UsageError."""
    from trueground.benchmarks.registry import get_benchmark

    bare, slash, task = name.partition("/")
    benchmark = get_benchmark(bare)
    if slash and task not in benchmark.tasks:
        raise unknown_name(f"task of {bare}", task, benchmark.tasks)
    tasks = (task,) if slash else benchmark.default_tasks
    return [task_statistics(benchmark, one, Sources(data=data)) for one in tasks]


def _published(benchmark: str, task: str, names: set[str]) -> dict[str, float]:
    return {
        number.name: number.value
        for table in published(benchmark)
        for number in table.numbers
        if number.task in ("", task) and number.name in names
    }
