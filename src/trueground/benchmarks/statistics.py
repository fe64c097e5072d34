"""What the questions of a task or a file are like, beside what the paper says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from statistics import fmean

from trueground.benchmarks.base import Sources, get_benchmark
from trueground.benchmarks.datasets import all_local_files, get_dataset
from trueground.benchmarks.instruct_qa.source import DATASETS, rows_to_questions
from trueground.benchmarks.published import published
from trueground.errors import InputError, UsageError, unknown_name
from trueground.records.columns import field_text
from trueground.records.files import data_files
from trueground.records.reading import plain_rows
from trueground.types import Record

# By which fields a file shows whose questions it holds; the first that fits.
_SIGNS = (
    ("topiocqa", {"Conversation_no", "Question"}),
    ("hotpotqa", {"supporting_facts", "question"}),
    ("nq", {"question", "answer"}),
)


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


def benchmark_statistics(name: str, data: Path | None) -> list[TaskStatistics]:
    """The numbers of a benchmark's tasks, NAME, or of one, NAME/TASK. InputError, UsageError."""
    bare, slash, task = name.partition("/")
    benchmark = get_benchmark(bare)
    if slash and task not in benchmark.tasks:
        raise unknown_name(f"task of {bare}", task, benchmark.tasks)
    found = []
    for one in (task,) if slash else benchmark.default_tasks:
        prepared = benchmark.prepare(one, {}, Sources(data=data))
        records = (question.record for question in prepared.questions())
        counted = _count(f"{bare}/{one}", records, prepared.by)
        found.append(_beside_paper(counted, bare, one))
    return found


def question_statistics(what: str, corpus: Path | None) -> list[TaskStatistics]:
    """The numbers of a file of questions, or of a dataset of them, one entry for each of its files.

    The paper's stand beside those of its own data. UsageError, InputError.
    """
    passages = None
    if corpus is not None:
        from trueground.retrieval.opening import CorpusSession

        passages = len(CorpusSession().open(corpus, []).passages)
    if Path(what).exists():
        return [_count_questions(what, data_files(Path(what)), passages)]
    try:
        dataset = get_dataset(what)
    except UsageError as error:
        raise UsageError(f"{error}; or name a file of questions") from None
    if what not in DATASETS.values():
        raise UsageError(
            f"{what} is no dataset of questions with references; expected one of "
            f"{', '.join(DATASETS.values())}, or a file of questions"
        )
    files = all_local_files(what)
    if not files:
        raise InputError(f"{what} is not fetched yet: trueground data fetch {what}")
    kinds: dict[str, list[Path]] = {}
    for file in files:
        part = next((f.name for f in dataset.files if file.name.startswith(f.name)), "")
        kinds.setdefault(f"{what} ({part})", []).append(file)
    return [_count_questions(name, some, passages, fetched=True) for name, some in kinds.items()]


def _count_questions(
    name: str, files: Sequence[Path], passages: int | None, *, fetched: bool = False
) -> TaskStatistics:
    rows = chain.from_iterable(map(plain_rows, files))
    first = list(islice(rows, 1))
    fields = {field for _, row in first for field in row}
    task = next((whose for whose, signs in _SIGNS if signs <= fields), "questions")
    items = list(rows_to_questions(task, chain(first, rows)))
    if not items:
        raise InputError(f"{name}: found no questions; expected one a row")
    records = (
        Record(
            id=one.id,
            response="",
            question=one.question,
            history=list(one.history),
            references=list(one.references),
            group=one.group,
        )
        for one in items
    )
    counted = _count(name, records)
    counted.counts["with_gold"] = sum(bool(item.gold) for item in items)
    if passages is not None:
        counted.counts["passages"] = passages
    compared = _beside_paper(counted, "instruct-qa", task)
    # A file of one's own is the paper's where it has as many questions.
    ours = fetched or compared.published.get("questions") == len(items)
    return compared if ours else counted


def _count(name: str, records: Iterable[Record], by: Sequence[str] = ()) -> TaskStatistics:
    n, totals, having = 0, Counter[str](), Counter[str]()
    parts, groups = Counter[str](), set[str]()
    for record in records:
        n += 1
        groups |= set() if record.group is None else {record.group}
        for mean, measure in _MEANS.items():
            values = measure(record)
            totals[mean] += sum(values)  # type: ignore[assignment]
            having[mean] += len(values)
        for one in by:
            if (value := field_text(record, one)) is not None:
                parts[f"{one.removeprefix('meta.')}={value}"] += 1
    return TaskStatistics(
        name,
        {"questions": n} | ({"groups": len(groups)} if groups else {}),
        means={mean: totals[mean] / having[mean] for mean in _MEANS if having[mean]},
        shares={part: count / n for part, count in sorted(parts.items())},
    )


def _beside_paper(counted: TaskStatistics, benchmark: str, task: str) -> TaskStatistics:
    ours = {*counted.counts, *counted.means, *counted.shares}
    told = {
        number.name: number.value
        for table in published(benchmark)
        for number in table.numbers
        if number.task in ("", task)
    }
    if (millions := told.get("passages_in_millions")) is not None:
        told["passages"] = millions * 1_000_000
    return TaskStatistics(
        counted.name,
        counted.counts,
        counted.means,
        counted.shares,
        {name: value for name, value in told.items() if name in ours},
    )
