"""The table of a run: per-item numbers, small ones in memory, large ones in a temporary file.

Where questions have several answers, it also tells which question an answer is of.
"""

from __future__ import annotations

import mmap
import tempfile
from dataclasses import dataclass
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.records import Check, field_text
from trueground.runs import Summary
from trueground.stats import sum_counts
from trueground.text import hash_text
from trueground.types import Answered, Record

_MOST_VALUES = 1_000
OTHER = "(other)"
_IN_MEMORY = 16_000_000
_COUNTED = 100_000  # items whose clusters are counted together
REPEAT = "repeat"  # in `meta`, where a question was asked several times: which time it was
NO_ANSWER = 0


@dataclass
class Scored:
    """What a batch comes to. `values` and `status` have shape (n, metrics + hidden ones).

    `by` has one list of n values per breakdown field; `clusters` (n,) are hashes of `group`, or of
    the id where an item has no group. `answerable` (n,) holds 1, 0, or -1 where the record does not
    say. `empty` counts empty responses. `agreement` counts pairs of verdicts (see
    `count_verdict_pairs`), `reasons` kinds of them (see `count_reasons`). Of repeated answers,
    `questions` names the question of each and `answers` (n,) are hashes of them; None where the
    plan tells no questions apart.
    """

    n: int
    items: bytes
    records: bytes
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    clusters: NDArray[np.int64]
    answerable: NDArray[np.int8]
    by: list[list[str]]
    empty: int
    agreement: NDArray[np.int64]
    reasons: NDArray[np.int64]
    questions: list[str] | None = None
    answers: NDArray[np.int64] | None = None


class RowStore:
    """Rows of numbers, appended in blocks; beyond some megabytes they lie in a temporary file."""

    def __init__(self, dtype: type[np.generic], width: int) -> None:
        self._dtype = np.dtype(dtype)
        self._width = width
        self._blocks: list[NDArray[Any]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None

    def append(self, block: NDArray[Any]) -> None:
        """Add rows, shape (rows, width)."""
        self._blocks.append(np.ascontiguousarray(block, self._dtype).reshape(-1, self._width))
        self._bytes += self._blocks[-1].nbytes
        if self._file is None and self._bytes > _IN_MEMORY:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        if self._file is not None:
            for waiting in self._blocks:
                self._file.write(waiting.tobytes())
            self._blocks.clear()

    def rows(self) -> NDArray[Any] | RowsOnDisk:
        """All rows so far, shape (rows, width); those in a file are read when asked for."""
        if self._file is not None:
            self._file.flush()
            return RowsOnDisk(self._file, self._dtype, self._width)
        return np.concatenate([np.empty((0, self._width), self._dtype), *self._blocks])

    def array(self) -> NDArray[Any]:
        """All rows in memory."""
        return np.asarray(self.rows()[:])

    def close(self) -> None:
        """Give the temporary file back."""
        self._blocks.clear()
        if self._file is not None:
            self._file.close()


class RowsOnDisk:
    """A table in a file: slices and row numbers give arrays, nothing else stays in memory."""

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any], width: int) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._table = np.frombuffer(self._map, dtype).reshape(-1, width)
        self.shape = self._table.shape

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
        taken = np.array(self._table[rows])
        if hasattr(self._map, "madvise"):  # give the pages back that were just read
            self._map.madvise(mmap.MADV_DONTNEED)
        return taken


class ItemTable:
    """The numbers of all items, and the codes of their breakdown values.

    `abstained` and `answered` count the unanswerable items first, then the answerable ones;
    `abstained_at` is the column that tells which responses declined.
    """

    def __init__(self, width: int, by: tuple[str, ...], abstained_at: int) -> None:
        self._abstained = abstained_at
        self.agreement: NDArray[np.int64] | None = None
        self.reasons: NDArray[np.int64] | None = None
        self.abstained = [0, 0]
        self.answered = [0, 0]
        self._scores = RowStore(np.float64, width)
        self._status = RowStore(np.uint8, width)
        self._clusters = RowStore(np.int64, 1)
        self._by = RowStore(np.int32, max(1, len(by)))
        self.fields = by
        self.names: list[dict[str, int]] = [{} for _ in by]
        # Of repeated answers: the questions in the order in which they came, with their numbers.
        self.questions: dict[str, int] = {}
        self._repeated = RowStore(np.int64, 2)
        self.n = 0
        self.empty = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for rows in (self._scores, self._status, self._clusters, self._by, self._repeated):
            rows.close()

    def append(self, batch: Scored) -> None:
        """Add one batch. Beyond 1,000 values of a breakdown the later ones are `(other)`."""
        self._scores.append(batch.values)
        self._status.append(batch.status)
        self._clusters.append(batch.clusters)
        declines = batch.values[:, self._abstained] == 1.0
        for flag in (0, 1):
            asked = batch.answerable == flag
            self.abstained[flag] += sum_counts(declines & asked)
            self.answered[flag] += sum_counts(~declines & asked)
        if self.fields:
            self._by.append(np.column_stack([self._codes(i, v) for i, v in enumerate(batch.by)]))
        if batch.questions is not None and batch.answers is not None:
            codes = [self.questions.setdefault(q, len(self.questions)) for q in batch.questions]
            self._repeated.append(np.column_stack([np.array(codes, np.int64), batch.answers]))
        known = self.agreement
        self.agreement = batch.agreement if known is None else known + batch.agreement
        self.reasons = batch.reasons if self.reasons is None else self.reasons + batch.reasons
        self.n += batch.n
        self.empty += batch.empty

    def _codes(self, i: int, values: list[str]) -> NDArray[np.int32]:
        names = self.names[i]
        codes = []
        for value in values:
            if value not in names and len(names) >= _MOST_VALUES:
                value = OTHER
            codes.append(names.setdefault(value, len(names)))
        return np.array(codes, np.int32)

    @property
    def scores(self) -> NDArray[Any] | RowsOnDisk:
        """Values of all items, shape (n, metrics); NaN where there is none."""
        return self._scores.rows()

    @property
    def status(self) -> NDArray[Any] | RowsOnDisk:
        """Status codes of all items, shape (n, metrics)."""
        return self._status.rows()

    @property
    def clusters(self) -> NDArray[np.int64]:
        """One number per item, equal within a cluster."""
        return self._clusters.array()[:, 0]

    def count_clusters(self) -> int:
        """How many clusters there are; of many items a part at a time is in memory."""
        rows = self._clusters.rows()
        parts, count = 1 + self.n // _COUNTED, 0
        for part in range(parts):
            found = []
            for low in range(0, self.n, _COUNTED):
                block = rows[low : low + _COUNTED][:, 0]
                found.append(block[block % parts == part])
            count += len(np.unique(np.concatenate(found))) if found else 0
        return count

    @property
    def question_codes(self) -> NDArray[np.int64]:
        """The number of each item's question; empty where none are told apart."""
        return self._repeated.array()[:, 0]

    @property
    def answer_hashes(self) -> NDArray[np.int64]:
        """A hash of each item's answer, 0 for none; empty where no questions are told apart."""
        return self._repeated.array()[:, 1]

    def by(self, i: int) -> NDArray[np.int32]:
        """Codes of breakdown field i, one per item; `names[i]` tells what they mean."""
        return self._by.array()[:, i]


@dataclass(frozen=True)
class QuestionRule:
    """Which question an answer is of.

    Attributes:
        of: BY_ID, QUESTION for its text, or a field as for --by.
    """

    of: str

    BY_ID: ClassVar = "id"  # an answer's id is that of its question, `#` and the repeat
    QUESTION: ClassVar = "question"

    def read(self, record: Record) -> str:
        """Return the name of the question that a record answers. Its own id if it names none."""
        if self.of == self.BY_ID:
            again = field_text(record, Summary.REPEAT_FIELD)
            return record.id.removesuffix(f"#{again}") if again else record.id
        name = record.question if self.of == self.QUESTION else field_text(record, self.of)
        return record.id if name is None else name


def answer_hash(record: Record) -> int:
    """64 bits of the response; 0 where there is no whole answer."""
    failed = isinstance(record, Answered) and record.failure is not None
    return NO_ANSWER if failed or record.response is None else hash_text(record.response)


def find_repeats(field: str | None, check: Check) -> str | None:
    """How questions are told apart: by this field, else by ids where records have `meta.repeat`.

    Raises UsageError for a field that no record has.
    """
    if field is None:
        return QuestionRule.BY_ID if check.has_breakdown(Summary.REPEAT_FIELD) else None
    known = (QuestionRule.BY_ID, QuestionRule.QUESTION, *check.breakdowns)
    if field not in known and not check.has_breakdown(field):
        raise UsageError(
            f"--repeats-of {field}: no record has this field. Expected the field that identifies "
            f"the question, one of {', '.join(known)}"
        )
    return field
