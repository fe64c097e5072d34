"""Answers that people have labelled: which label is meant, which records can be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any, Literal, Self

from trueground.errors import InputError, UsageError, unknown_name
from trueground.records import Check, RecordSource, open_records
from trueground.types import Record, Status

DEFAULT_LABEL = "faithful"
NO_LABEL = "no_label"
_BATCH = 1_024


@dataclass(frozen=True)
class Labelled:
    """One record to judge: its non-blank context texts, its label, and the hash of its cluster."""

    record: Record
    texts: tuple[str, ...]
    positive: bool
    cluster: int


@dataclass
class LabelledFile:
    """One source of records; `unused` counts, by reason, those that cannot be judged."""

    name: str
    source: RecordSource
    check: Check
    labels: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    n: int = 0
    positives: int = 0


class LabelledFiles:
    """Several files, every row checked, and the label found, before anything is judged.

    InputError: no such label, labels of one kind only, a bad row, a file that cannot be read.
    UsageError: a file twice, several labels to choose from.
    """

    def __init__(
        self,
        source: Any,
        *,
        label: str | None = None,
        positive_above: float = 0.5,
        mapping: Mapping[str, str] | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._above = positive_above
        self.files: list[LabelledFile] = []
        with ExitStack() as stack:
            for one in _each(source):
                opened = stack.enter_context(
                    open_records(one, mapping=mapping, on_bad_row=on_bad_row, limit=limit)
                )
                self.files.append(LabelledFile(opened.name, opened, opened.check(progress)))
            for file in self.files:
                for batch in file.source.batches(_BATCH):
                    file.labels.update(name for r in batch for name in r.human or ())
            self.label = self._label(label)
            self._count()
            self._open = stack.pop_all()

    @property
    def n(self) -> int:
        """Number of records that can be judged."""
        return sum(file.n for file in self.files)

    @property
    def has_groups(self) -> bool:
        """Whether any record names the group that it belongs to."""
        return any(file.check.groups for file in self.files)

    def batches(self) -> Iterator[tuple[int, list[Labelled]]]:
        """The records that can be judged: number of the file, and up to 1,024 records of it."""
        for number, file in enumerate(self.files):
            row = 0
            for batch in file.source.batches(_BATCH):
                found = [self._read(record) for record in batch]
                yield (
                    number,
                    [
                        Labelled(record, *what, _cluster(record, number, row + i))
                        for i, (record, what) in enumerate(zip(batch, found, strict=True))
                        if not isinstance(what, str)
                    ],
                )
                row += len(batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def _read(self, record: Record) -> tuple[tuple[str, ...], bool] | str:
        """The texts and the label of a record, or why it cannot be judged."""
        value = (record.human or {}).get(self.label)
        if value is None:
            return NO_LABEL
        texts = tuple(p.text for p in record.contexts or () if p.text.strip())
        if not texts:
            return Status.MISSING_FIELD.value
        if not record.response.strip():
            return Status.NO_CLAIMS.value
        return texts, value > self._above

    def _label(self, wanted: str | None) -> str:
        names = sorted(set().union(*(file.labels for file in self.files)))
        where = ", ".join(file.name for file in self.files)
        if not names:
            raise InputError(
                f"{where}: no record has a human label; expected a field such as "
                f'"human": {{"{DEFAULT_LABEL}": 1}}'
            )
        if wanted is not None:
            if wanted not in names:
                raise unknown_name("label", wanted, names)
            return wanted
        if len(names) > 1 and DEFAULT_LABEL not in names:
            raise UsageError(
                f"{where}: there are several human labels: {', '.join(names)}; choose one with "
                "--label"
            )
        return names[0] if len(names) == 1 else DEFAULT_LABEL

    def _count(self) -> None:
        """Count what can be judged. InputError where that is nothing, or of one kind."""
        for file in self.files:
            for batch in file.source.batches(_BATCH):
                for what in map(self._read, batch):
                    if isinstance(what, str):
                        file.unused[what] += 1
                    else:
                        file.n += 1
                        file.positives += what[1]
        n, positives = self.n, sum(file.positives for file in self.files)
        if positives not in (0, n):
            return
        unused = sum((file.unused for file in self.files), Counter[str]())
        rest = "".join(f"; {count:,} {why}" for why, count in sorted(unused.items()))
        raise InputError(
            f"label {self.label!r}: {positives:,} of {n:,} records that can be judged are positive "
            f"(above {self._above:g}){rest}; expected some of both kinds"
        )


def _each(source: Any) -> Sequence[Any]:
    """The files of several paths, one by one; anything else is one source."""
    if not isinstance(source, list | tuple) or not source:
        return [source]
    if not all(isinstance(item, str | PathLike) for item in source):
        return [source]
    names = [fspath(item) for item in source]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice; name each file once")
    return names


def _cluster(record: Record, file: int, row: int) -> int:
    """Equal for records of one group, in whichever file; a record without group is alone."""
    if record.group is None:
        key, kind = f"{file}:{row}", b"row"
    else:
        key, kind = record.group, b"group"
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "little", signed=True)
