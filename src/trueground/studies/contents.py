"""What the items of a run were about, as hashes: groups, questions, and what its metrics read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics.registry import parse_spec
from trueground.plugins import split_key
from trueground.studies.reading import FinishedRun, hashes, other_records, read_records
from trueground.types import Record

# What an answer is made of differs between runs; all other fields say what it is measured against.
_OF_ANSWERS = {"id", "question", "response", "response_facts", "model", "group", "human", "meta"}
FIELDS = tuple(name for name in Record.__struct_fields__ if name not in _OF_ANSWERS)
_BLOCK = 4_096
_NOTHING = (b"", b"null")


class _Kept(msgspec.Struct):
    """Fields are kept as they stand in the file, and read only where they are asked for."""

    id: str
    question: str | None = None
    group: str | None = None
    history: msgspec.Raw = msgspec.Raw()
    contexts: msgspec.Raw = msgspec.Raw()
    references: msgspec.Raw = msgspec.Raw()
    gold_facts: msgspec.Raw = msgspec.Raw()
    choices: msgspec.Raw = msgspec.Raw()
    answerable: msgspec.Raw = msgspec.Raw()
    knowledge: msgspec.Raw = msgspec.Raw()
    gold_knowledge: msgspec.Raw = msgspec.Raw()
    absent_knowledge: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True)
class Contents:
    """Hashes of each record's group, question and fields, shape (n,); NO_HASH where it has none."""

    groups: NDArray[np.int64]
    questions: NDArray[np.int64]
    fields: dict[str, NDArray[np.int64]]

    def of(self, rows: NDArray[np.int64]) -> Contents:
        """These records only."""
        fields = {name: column[rows] for name, column in self.fields.items()}
        return Contents(self.groups[rows], self.questions[rows], fields)


def fields_read(metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Field of `FIELDS` → those of these metrics that need it, in the order of the fields.

    A metric that is not known here, such as one of a package that is not installed, tells nothing.
    """
    found: dict[str, list[str]] = {name: [] for name in FIELDS}
    for metric in metrics:
        try:
            needs = parse_spec(split_key(metric).spec).needs
        except UsageError:
            continue
        for need in needs:
            if need in found:
                found[need].append(metric)
    return {name: tuple(readers) for name, readers in found.items() if readers}


def read_contents(run: FinishedRun, ids: NDArray[np.int64], fields: Sequence[str]) -> Contents:
    """All records of a run. InputError: records that are not those of the items."""
    groups, questions, seen = [], [], []
    columns: dict[str, list[NDArray[np.int64]]] = {name: [] for name in fields}
    for block in _blocks(read_records(run, _Kept)):
        groups.append(hashes(kept.group for kept in block))
        questions.append(hashes(kept.question for kept in block))
        seen.append(hashes(kept.id for kept in block))
        for name, column in columns.items():
            column.append(hashes(_said(name, getattr(kept, name)) for kept in block))
    empty = np.empty(0, np.int64)
    if not np.array_equal(np.concatenate([empty, *seen]), ids):
        raise other_records(run)
    return Contents(
        np.concatenate([empty, *groups]),
        np.concatenate([empty, *questions]),
        {name: np.concatenate([empty, *column]) for name, column in columns.items()},
    )


def _said(name: str, raw: msgspec.Raw) -> bytes | None:
    """What a field says, whatever the order of its keys; of passages only their texts."""
    written = bytes(raw)
    if written in _NOTHING:
        return None
    value = msgspec.json.decode(written)
    if name == "contexts":
        value = [one.get("text") if isinstance(one, dict) else one for one in value]
    return msgspec.json.encode(value, order="sorted")


def _blocks(kept: Iterator[_Kept]) -> Iterator[list[_Kept]]:
    while block := list(islice(kept, _BLOCK)):
        yield block
