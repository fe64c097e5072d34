"""The texts of single items of a finished run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.records.files import open_unpacked
from trueground.runs.directory import ITEMS, RECORDS
from trueground.studies.finished import FinishedRun, decode_lines


class Words(msgspec.Struct):
    """What of a record is shown beside its scores.

    Of a question with several answers `id` is the question's name, and `answer` the id of the first
    of them.
    """

    id: str
    question: str | None = None
    response: str | None = None
    group: str | None = None
    answer: str | None = None

    @property
    def on_page(self) -> str:
        """Under which id the page of the run shows it."""
        return self.id if self.answer is None else self.answer


def read_words(run: FinishedRun, rows: NDArray[np.int64]) -> dict[int, Words]:
    """The texts of these rows, or only their ids where the run kept no records."""
    wanted = set(rows.tolist())
    if not wanted:
        return {}
    path = run.path / (RECORDS if run.has_records else ITEMS)
    with open_unpacked(path, ".zst" if run.has_records else "", str(path)) as lines:
        found = islice(_named(run, decode_lines(lines, Words, path)), max(wanted) + 1)
        return {row: words for row, words in enumerate(found) if row in wanted}


def _named(run: FinishedRun, lines: Iterable[Words]) -> Iterator[Words]:
    if run.questions is None:
        yield from lines
        return
    for name, words in run.questions.first_answers(lines):
        words.id, words.answer = name, words.id
        yield words
