"""What the questions of a task or a file are like, beside what the paper says of them."""

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


def _words(texts: Iterable[str]) -> list[int]:
    """How many each text has: what stands between white space."""
    return [len(text.split()) for text in texts]


# What is averaged over questions, or over all that they have of it; what no question has is left
# out. A reference that a question has twice counts once. Instruct-qa does not say whether answers
# are averaged over all references or over the first ones (Table 1), so both are given.
_MEANS: dict[str, Callable[[Record], list[int] | list[float]]] = {
    "question_words": lambda r: _words([r.question] if r.question is not None else []),
    "turns": lambda r: [len(r.history)] if r.history is not None else [],
    "references": lambda r: [len(set(r.references))] if r.references else [],
    "reference_words": lambda r: [fmean(_words({*r.references}))] if r.references else [],
    "answer_words": lambda r: _words({*(r.references or ())}),
    "first_answer_words": lambda r: _words((r.references or [])[:1]),
    "contexts": lambda r: [len(r.contexts)] if r.contexts else [],
    "context_words": lambda r: [sum(_words(c.text for c in r.contexts))] if r.contexts else [],
    "gold_facts": lambda r: [len(r.gold_facts)] if r.gold_facts else [],
    "choices": lambda r: [len(r.choices)] if r.choices else [],
    "graphs": lambda r: [len(r.knowledge)] if r.knowledge else [],
    "minimum_set_size": lambda r: [len(r.gold_knowledge)] if r.gold_knowledge else [],
}


@dataclass(frozen=True)
class TaskStatistics:
    """Numbers of the questions of a task or file.

    `counts` are of questions, of their groups or conversations, of those whose gold passages are
    known, of the corpus's passages. `shares` are of questions, by "field=value" of what the task is
    broken down by; `published` are the paper's of the same names.
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
        """Return the numbers of records without responses.

        Args:
            name: The task or file.
            records: The records, which are read once.
            by: The fields of their shares.
        """
        n, totals, having = 0, Counter[str](), Counter[str]()
        parts, groups = Counter[str](), set[str]()
        for record in records:
            n += 1
            groups |= set() if record.group is None else {record.group}
            for mean, measure in _MEANS.items():
                values = measure(record)
                totals[mean] += sum(values)  # type: ignore[assignment]
                having[mean] += len(values)
            for path in by:
                if (value := field_text(record, path)) is not None:
                    parts[f"{path.removeprefix('meta.')}={value}"] += 1
        return cls(
            name,
            {"questions": n} | ({"groups": len(groups)} if groups else {}),
            means={mean: totals[mean] / having[mean] for mean in _MEANS if having[mean]},
            shares={part: count / n for part, count in sorted(parts.items())},
        )

    def with_published(self, benchmark: str, task: str) -> TaskStatistics:
        """Return the statistics with the paper's numbers of the same names."""
        counted = {*self.counts, *self.means, *self.shares}
        printed = {
            number.name: number.value
            for table in get_benchmark(benchmark).published
            for number in table.numbers
            if number.task in ("", task)
        }
        if (millions := printed.get("passages_in_millions")) is not None:
            printed["passages"] = millions * 1_000_000
        known = {name: value for name, value in printed.items() if name in counted}
        return replace(self, published=known)


def count_questions(name: str, data: Path | None, corpus: Path | None) -> list[TaskStatistics]:
    """As `benchmarks.count_data`."""
    known = all_benchmarks()
    benchmark = None if Path(name).exists() else known.get(name.partition("/")[0])
    if benchmark is not None and benchmark.count is None:
        return benchmark_statistics(name, data)
    candidates = known.values() if benchmark is None else [benchmark]
    for candidate in candidates:
        if candidate.count is not None:
            counted: list[TaskStatistics] = load_function(candidate.count)(name, data, corpus)
            return counted
    raise UsageError.unknown_name("benchmark", name, known)


def benchmark_statistics(name: str, data: Path | None) -> list[TaskStatistics]:
    """The numbers of a benchmark's tasks, NAME, or of one, NAME/TASK. InputError, UsageError."""
    bare, slash, task = name.partition("/")
    benchmark = get_benchmark(bare)
    if slash and task not in benchmark.tasks:
        raise UsageError.unknown_name(f"task of {bare}", task, benchmark.tasks)
    found = []
    for one in (task,) if slash else benchmark.default_tasks:
        prepared = benchmark.prepare(one, {}, Sources(data=data))
        records = (question.record for question in prepared.questions())
        counted = TaskStatistics.of_records(f"{bare}/{one}", records, prepared.by)
        found.append(counted.with_published(bare, one))
    return found
