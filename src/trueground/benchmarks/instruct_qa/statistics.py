"""What a set of questions is like: Table 1 for any data.

A word is what stands between white space. The paper does not say whether answers are averaged over
all references or over the first ones, so both are given. A reference that a question has twice
counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from trueground.benchmarks.datasets import all_local_files, get_dataset
from trueground.benchmarks.instruct_qa.source import DATASETS, QaQuestion, rows_to_questions
from trueground.benchmarks.published import published
from trueground.errors import InputError, UsageError
from trueground.records.files import data_files
from trueground.records.reading import plain_rows

# By which fields a file shows whose it is; the first that fits.
_SIGNS = (
    ("topiocqa", {"Conversation_no", "Question"}),
    ("hotpotqa", {"supporting_facts", "question"}),
    ("nq", {"question", "answer"}),
)


@dataclass(frozen=True)
class Statistics:
    """Numbers of one set of questions; None where there is nothing to average.

    `dataset` is whose fields the file has. `answer_words` is the mean over all references,
    `first_answer_words` over the first of each question, `question_words` over the questions;
    `references` are those a question has on average, `turns` the earlier turns, `conversations` the
    groups. `passages` is None without a corpus. `published` are the paper's numbers: `questions`,
    `answer_words` and `passages_in_millions`; empty where the data are not its own.
    """

    name: str
    dataset: str
    questions: int
    question_words: float
    answer_words: float | None
    first_answer_words: float | None
    references: float
    turns: float
    conversations: int
    with_gold: int
    passages: int | None
    published: dict[str, float] = field(default_factory=dict)


def statistics(what: str, corpus: Path | None) -> list[Statistics]:
    """As `benchmarks.count_data`."""
    passages = None if corpus is None else _passages(corpus)
    if Path(what).exists():
        return [_of(what, data_files(Path(what)), passages)]
    try:
        get_dataset(what)
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
        part = next((f.name for f in get_dataset(what).files if file.name.startswith(f.name)), "")
        kinds.setdefault(part, []).append(file)
    return [_of(f"{what} ({part})", some, passages, fetched=True) for part, some in kinds.items()]


def summarise(
    name: str,
    dataset: str,
    items: Sequence[QaQuestion],
    passages: int | None = None,
    *,
    fetched: bool = False,
) -> Statistics:
    """The numbers of these questions. InputError: there are none.

    The paper's stand beside those of a dataset that was fetched, and of as many questions as its.
    """
    if not items:
        raise InputError(f"{name}: found no questions; expected one a row")
    words = [[len(one.split()) for one in dict.fromkeys(item.references)] for item in items]
    every = [count for counts in words for count in counts]
    told = table_1(dataset)
    if not fetched and told.get("questions") != len(items):
        told = {}
    return Statistics(
        name=name,
        dataset=dataset,
        questions=len(items),
        question_words=sum(len(item.question.split()) for item in items) / len(items),
        answer_words=_mean(every),
        first_answer_words=_mean([counts[0] for counts in words if counts]),
        references=len(every) / len(items),
        turns=sum(len(item.history) for item in items) / len(items),
        conversations=len({item.group for item in items if item.group is not None}),
        with_gold=sum(bool(item.gold) for item in items),
        passages=passages,
        published=told,
    )


def table_1(dataset: str) -> dict[str, float]:
    """What the paper prints of a dataset, by name; empty for any other."""
    [table] = [table for table in published("instruct-qa") if table.id == "1"]
    return {one.name: one.value for one in table.numbers if one.task == dataset}


def _of(
    name: str, files: Sequence[Path], passages: int | None, *, fetched: bool = False
) -> Statistics:
    rows = chain.from_iterable(map(plain_rows, files))
    first = list(islice(rows, 1))
    fields = {field for _, row in first for field in row}
    dataset = next((whose for whose, signs in _SIGNS if signs <= fields), "questions")
    items = list(rows_to_questions(dataset, chain(first, rows)))
    return summarise(name, dataset, items, passages, fetched=fetched)


def _passages(corpus: Path) -> int:
    from trueground.retrieval.building import ready_index

    return len(ready_index(corpus, []).passages)


def _mean(counts: Sequence[int]) -> float | None:
    return sum(counts) / len(counts) if counts else None
