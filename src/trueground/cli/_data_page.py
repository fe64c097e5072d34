"""The counts of a benchmark's data as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trueground.benchmarks import TaskStatistics
from trueground.reports import Block, Head, Part, Row, Table

_COUNTED = {
    "groups": "conversations or groups",
    "with_gold": "questions with gold passages",
    "question_words": "words of a question",
    "turns": "earlier turns of a question",
    "references": "references of a question",
    "reference_words": "words of a reference",
    "answer_words": "words of an answer (distinct answers)",
    "first_answer_words": "words of an answer (first reference)",
    "contexts": "contexts of a question",
    "context_words": "words of its contexts",
    "gold_facts": "gold facts of a question",
    "choices": "choices of a question",
    "graphs": "graphs of a question",
    "minimum_set_size": "pieces of its minimum set",
}


def show_statistics(counts: Iterable[TaskStatistics]) -> list[Block]:
    """Return a table for each task: one number per row, with that of the paper if there is one."""
    return [Part(task.name, [_tabulate(task)]) for task in counts]


def _tabulate(task: TaskStatistics) -> Table:
    rows = [
        *_rows(task.counts, task.published, ",.0f"),
        *_rows(task.means, task.published, ",.2f"),
        *_rows(task.shares, task.published, ".1%"),
    ]
    columns = [Head(""), Head("counted", "number")]
    if any(row.cells[2] for row in rows):
        columns.append(Head("paper", "number"))
    return Table(columns, rows)


def _rows(numbers: Mapping[str, float], published: Mapping[str, float], form: str) -> Iterator[Row]:
    for name, value in numbers.items():
        paper = published.get(name)
        cells = ["" if number is None else f"{number:{form}}" for number in (value, paper)]
        yield Row([_COUNTED.get(name, name), *cells])
