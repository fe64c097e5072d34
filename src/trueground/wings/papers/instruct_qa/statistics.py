"""Statistics of files and datasets of questions, for `trueground data stats`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

from trueground.benchmarks import TaskStatistics, get_dataset
from trueground.errors import InputError, UsageError
from trueground.records import DataPath
from trueground.types import Record
from trueground.wings.papers.instruct_qa.source import DATASETS, QaQuestion, rows_to_questions
from trueground.wings.search import CorpusSession

# Fields that identify the format of a file. The first match wins.
_FORMAT_FIELDS = (
    ("topiocqa", {"Conversation_no", "Question"}),
    ("hotpotqa", {"supporting_facts", "question"}),
    ("nq", {"question", "answer"}),
)


def count_questions(name: str, data: Path | None, corpus: Path | None) -> list[TaskStatistics]:
    """Return statistics of the questions of instruct-qa, a task, a dataset or a file.

    Args:
        name: The benchmark, task, dataset or file.
        data: The user's data. None: the fetched files.
        corpus: A corpus or index whose passages to count as well.

    Raises:
        InputError: The data isn't fetched, or a row is invalid.
        UsageError: The name is unknown.
    """
    bare, _, task = name.partition("/")
    if bare != "instruct-qa" or Path(name).exists():
        return _count_files(name, corpus)
    datasets = [DATASETS[task]] if task in DATASETS else list(DATASETS.values())
    counted = []
    for dataset in datasets:
        counted += _count_files(str(data or dataset), corpus)
    return counted


def _count_files(name: str, corpus: Path | None) -> list[TaskStatistics]:
    """Return the statistics of a file or dataset, one entry per file of a dataset."""
    passages = None
    if corpus is not None:
        passages = len(CorpusSession().open(corpus, []).passages)
    if Path(name).exists():
        return [_count_questions(name, DataPath(Path(name)).files(), passages)]
    try:
        dataset = get_dataset(name)
    except UsageError as error:
        raise UsageError(f"{error}. Or name a file of questions") from None
    if name not in DATASETS.values():
        raise UsageError(
            f"{name} isn't a dataset of questions with references; expected one of "
            f"{', '.join(DATASETS.values())}, or a file of questions"
        )
    files = dataset.all_local_files()
    if not files:
        raise InputError(f"{name} is not fetched yet. Fetch it with: trueground data fetch {name}")
    files_by_title: dict[str, list[Path]] = {}
    for file in files:
        split = next((f.name for f in dataset.files if file.name.startswith(f.name)), "")
        files_by_title.setdefault(f"{name} ({split})", []).append(file)
    return [
        _count_questions(title, shards, passages, fetched=True)
        for title, shards in files_by_title.items()
    ]


def _count_questions(
    name: str, files: Sequence[Path], passages: int | None, *, fetched: bool = False
) -> TaskStatistics:
    rows = chain.from_iterable(DataPath(file).rows() for file in files)
    first = list(islice(rows, 1))
    fields = set(first[0][1]) if first else set()
    task = next((name for name, needed in _FORMAT_FIELDS if needed <= fields), "questions")
    items = list(rows_to_questions(task, chain(first, rows)))
    if not items:
        raise InputError(f"{name}: found no questions; expected one per row")
    statistics = TaskStatistics.of_records(name, map(_to_record, items))
    statistics.counts["with_gold"] = sum(bool(item.gold) for item in items)
    if passages is not None:
        statistics.counts["passages"] = passages
    with_published = statistics.with_published("instruct-qa", task)
    # A user's file with as many questions as the paper's is probably the same.
    is_paper_data = fetched or with_published.published.get("questions") == len(items)
    return with_published if is_paper_data else statistics


def _to_record(item: QaQuestion) -> Record:
    return Record(
        id=item.id,
        response="",
        question=item.question,
        history=list(item.history),
        references=list(item.references),
        group=item.group,
    )
