"""Statistics of the questions of a task or file, and those that the paper printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from trueground.benchmarks.base import Sources, all_benchmarks, get_benchmark, load_function
from trueground.errors import UsageError
from trueground.records import field_text
from trueground.types import Record


def _count_words(texts: Iterable[str]) -> list[int]:
    """Return the number of words in each text, split at whitespace."""
    return [len(text.split()) for text in texts]


def _count_context_words(record: Record) -> int:
    return sum(_count_words(context.text for context in record.contexts or []))


# Values to average, over all questions that have some. A reference that a question has twice counts
# once. The paper of Instruct-qa doesn't say whether Table 1 averages all references or the first of
# each question, so both are computed.
_MEANS: dict[str, Callable[[Record], list[int] | list[float]]] = {
    "question_words": lambda r: _count_words([r.question] if r.question is not None else []),
    "turns": lambda r: [len(r.history)] if r.history is not None else [],
    "references": lambda r: [len(set(r.references))] if r.references else [],
    "reference_words": lambda r: [fmean(_count_words({*r.references}))] if r.references else [],
    "answer_words": lambda r: _count_words({*(r.references or ())}),
    "first_answer_words": lambda r: _count_words((r.references or [])[:1]),
    "contexts": lambda r: [len(r.contexts)] if r.contexts else [],
    "context_words": lambda r: [_count_context_words(r)] if r.contexts else [],
    "gold_facts": lambda r: [len(r.gold_facts)] if r.gold_facts else [],
    "choices": lambda r: [len(r.choices)] if r.choices else [],
    "graphs": lambda r: [len(r.knowledge)] if r.knowledge else [],
    "minimum_set_size": lambda r: [len(r.gold_knowledge)] if r.gold_knowledge else [],
}


@dataclass(frozen=True)
class TaskStatistics:
    """Statistics of the questions of a task or file.

    Attributes:
        name: The task or file.
        counts: Numbers of questions, groups or conversations, questions with known gold passages,
            and passages of the corpus.
        means: Means over the questions that have a value.
        shares: Shares of the questions, keyed by "field=value" for the breakdown fields.
        published: The numbers of the paper under the same names.
    """

    name: str
    counts: dict[str, int]
    means: dict[str, float]
    shares: dict[str, float] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_records(
        cls, name: str, records: Iterable[Record], by: Sequence[str] = ()
    ) -> TaskStatistics:
        """Compute the statistics of records without responses.

        Args:
            name: The task or file.
            records: The records. They are read once.
            by: The fields for `shares`.
        """
        n = 0
        totals = Counter[str]()
        n_values = Counter[str]()
        n_by_value = Counter[str]()
        groups = set[str]()
        for record in records:
            n += 1
            if record.group is not None:
                groups.add(record.group)
            for mean, measure in _MEANS.items():
                values = measure(record)
                totals[mean] += sum(values)  # type: ignore[assignment]
                n_values[mean] += len(values)
            for path in by:
                if (value := field_text(record, path)) is not None:
                    n_by_value[f"{path.removeprefix('meta.')}={value}"] += 1
        counts = {"questions": n}
        if groups:
            counts["groups"] = len(groups)
        return cls(
            name,
            counts,
            means={mean: totals[mean] / n_values[mean] for mean in _MEANS if n_values[mean]},
            shares={value: count / n for value, count in sorted(n_by_value.items())},
        )

    def with_published(self, benchmark: str, task: str) -> TaskStatistics:
        """Return the statistics with the paper's numbers under the same names."""
        names = {*self.counts, *self.means, *self.shares}
        printed = {}
        for table in get_benchmark(benchmark).published:
            for number in table.numbers:
                if number.task in ("", task):
                    printed[number.name] = number.value
        if (millions := printed.get("passages_in_millions")) is not None:
            printed["passages"] = millions * 1_000_000
        published = {name: value for name, value in printed.items() if name in names}
        return replace(self, published=published)


def count_questions(name: str, data: Path | None, corpus: Path | None) -> list[TaskStatistics]:
    """Return statistics of questions. See `benchmarks.count_data`."""
    benchmarks = all_benchmarks()
    benchmark = None if Path(name).exists() else benchmarks.get(name.partition("/")[0])
    if benchmark is not None and benchmark.count is None:
        return benchmark_statistics(name, data)
    candidates = benchmarks.values() if benchmark is None else [benchmark]
    for candidate in candidates:
        if candidate.count is not None:
            count = load_function(candidate.count)
            statistics: list[TaskStatistics] = count(name, data, corpus)
            return statistics
    raise UsageError.unknown_name("benchmark", name, benchmarks)


def benchmark_statistics(name: str, data: Path | None) -> list[TaskStatistics]:
    """Return the statistics of a benchmark's default tasks (NAME) or of a task (NAME/TASK).

    Raises:
        InputError: The data isn't fetched, or a row is invalid.
        UsageError: The benchmark or task is unknown.
    """
    bare, slash, task = name.partition("/")
    benchmark = get_benchmark(bare)
    if slash and task not in benchmark.tasks:
        raise UsageError.unknown_name(f"task of {bare}", task, benchmark.tasks)
    results = []
    for task_name in (task,) if slash else benchmark.default_tasks:
        prepared = benchmark.prepare(task_name, {}, Sources(data=data))
        records = (question.record for question in prepared.questions())
        statistics = TaskStatistics.of_records(f"{bare}/{task_name}", records, prepared.by)
        results.append(statistics.with_published(bare, task_name))
    return results
