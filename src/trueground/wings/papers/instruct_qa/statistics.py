"""Numbers of files and datasets of questions, for `trueground data stats`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

from trueground.benchmarks import TaskStatistics, get_dataset
from trueground.errors import InputError, UsageError
from trueground.records import DataPath
from trueground.types import Record
from trueground.wings.papers.instruct_qa.source import DATASETS, rows_to_questions
from trueground.wings.search import CorpusSession

# By which fields a file shows whose questions it holds; the first that fits.
_SIGNS = (
    ("topiocqa", {"Conversation_no", "Question"}),
    ("hotpotqa", {"supporting_facts", "question"}),
    ("nq", {"question", "answer"}),
)


def count_questions(name: str, data: Path | None, corpus: Path | None) -> list[TaskStatistics]:
    """Count the questions of instruct-qa, of one of its tasks, of a dataset or of a file.

    Its questions are what they are without any retrieval. UsageError, InputError.
    """
    bare, _, task = name.partition("/")
    if bare != "instruct-qa" or Path(name).exists():
        return _count_files(name, corpus)
    datasets = [DATASETS[task]] if task in DATASETS else list(DATASETS.values())
    counted = []
    for dataset in datasets:
        counted += _count_files(str(data or dataset), corpus)
    return counted


def _count_files(what: str, corpus: Path | None) -> list[TaskStatistics]:
    """The numbers of a file of questions, or of a dataset of them, one entry for each of its files.

    The paper's stand beside those of its own data. UsageError, InputError.
    """
    passages = None
    if corpus is not None:
        passages = len(CorpusSession().open(corpus, []).passages)
    if Path(what).exists():
        return [_count_questions(what, DataPath(Path(what)).files(), passages)]
    try:
        dataset = get_dataset(what)
    except UsageError as error:
        raise UsageError(f"{error}; or name a file of questions") from None
    if what not in DATASETS.values():
        raise UsageError(
            f"{what} is no dataset of questions with references; expected one of "
            f"{', '.join(DATASETS.values())}, or a file of questions"
        )
    files = dataset.all_local_files()
    if not files:
        raise InputError(f"{what} is not fetched yet. Fetch it with: trueground data fetch {what}")
    kinds: dict[str, list[Path]] = {}
    for file in files:
        part = next((f.name for f in dataset.files if file.name.startswith(f.name)), "")
        kinds.setdefault(f"{what} ({part})", []).append(file)
    return [_count_questions(name, some, passages, fetched=True) for name, some in kinds.items()]


def _count_questions(
    name: str, files: Sequence[Path], passages: int | None, *, fetched: bool = False
) -> TaskStatistics:
    rows = chain.from_iterable(DataPath(file).rows() for file in files)
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
    counted = TaskStatistics.of_records(name, records)
    counted.counts["with_gold"] = sum(bool(item.gold) for item in items)
    if passages is not None:
        counted.counts["passages"] = passages
    compared = counted.with_published("instruct-qa", task)
    # A file of one's own is the paper's where it has as many questions.
    ours = fetched or compared.published.get("questions") == len(items)
    return compared if ours else counted
