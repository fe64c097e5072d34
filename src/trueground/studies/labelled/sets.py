"""Labelled sets of records: every row checked, and every label read, before any work."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from statistics import fmean
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.studies.finished import hash_texts
from trueground.studies.labelled.merged import LabelFiles
from trueground.studies.labelled.opening import Ints, LabelledSet, named, open_set
from trueground.studies.labelled.rule import (
    DEFAULT_LABEL,
    NO_LABEL,
    TIED,
    LabelRule,
    Told,
    Votes,
    choose_label,
    cluster_key,
    dropped,
    label_names,
)
from trueground.types import Record

__all__ = ["LabelledSet", "LabelledSets"]

Use = Callable[[Record], str | None]
_WITHOUT = {NO_LABEL, TIED, "bad_row"}  # what is no matter of `use`
_NO_PAIR = "no_response_b"


class LabelledSets:
    """Several sets under one label.

    `use` tells of a record why it cannot serve, if so. `sets` are those with anything that can,
    `given` all of them. InputError: no such label, labels of one kind only, a bad row, a file or
    run that cannot be read. UsageError: a file twice.
    """

    def __init__(
        self,
        source: Any,
        *,
        label: str | None,
        rule: Mapping[str, Any],
        labels: LabelFiles | None = None,
        default: str = DEFAULT_LABEL,
        use: Use = lambda _record: None,
        keep: Mapping[str, float] | None = None,
        mapping: Mapping[str, str] | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._use = use
        self._keep = keep or {}
        self._files = labels
        self.notes: list[str] = []
        with ExitStack() as stack:
            self.given = [
                open_set(one, name, number, stack, mapping, on_bad_row, limit, progress, labels)
                for number, (one, name) in enumerate(named(source), 1)
            ]
            if labels is None:
                where = ", ".join(one.path for one in self.given)
                label = choose_label(label, self._names(), where, default)
            else:
                label = labels.label
            self.rule = LabelRule(label, **rule)
            for one in self.given:
                self._gather(one)
            self.sets = [one for one in self.given if one.n]
            self._check()
            self._open = stack.pop_all()

    @property
    def n(self) -> int:
        """Labelled records of all sets."""
        return sum(one.n for one in self.sets)

    def batches(self, of: LabelledSet) -> Iterator[list[tuple[Record, Told]]]:
        """The labelled records of a set with their labels, in input order."""
        for batch in self._records(of):
            told = [self._read(record) for record in batch]
            pairs = zip(batch, told, strict=True)
            yield [(record, what) for record, what in pairs if isinstance(what, Told)]

    def mask(self, of: LabelledSet) -> tuple[Ints, NDArray[np.bool_]]:
        """Of every record of a set, shape (records,): the hash of its id, and whether it serves."""
        ids, kept = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        for batch in self._records(of):
            ids.append(hash_texts(record.id for record in batch))
            kept.append(np.array([isinstance(self._read(r), Told) for r in batch], np.bool_))
        return np.concatenate(ids), np.concatenate(kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def _read(self, record: Record) -> Told | str:
        told = self.rule.read(record)
        if isinstance(told, str):
            return told
        return dropped(record, self._keep) or self._use(record) or told

    def _records(self, of: LabelledSet) -> Iterator[list[Record]]:
        """The records of a set with their labels, also where these stand in files beside them."""
        for batch in of.source.batches():
            yield (
                batch
                if self._files is None
                else [
                    labelled for one in batch for labelled in self._files.labelled(one, of.number)
                ]
            )

    def _names(self) -> Counter[str]:
        names: Counter[str] = Counter()
        for one in self.given:
            for batch in self._records(one):
                for record in batch:
                    names.update(label_names(record.human or ()))
        return names

    def _gather(self, one: LabelledSet) -> None:
        """Read the labels of a set once; nothing but numbers is kept of them."""
        labels, clusters, said = array("d"), array("q"), array("d")
        parts = self._files is not None and self._files.of_parts
        models: set[str] = set()
        for batch in self._records(one):
            keys = hash_texts(cluster_key(record, one.number) for record in batch).tolist()
            for record, key in zip(batch, keys, strict=True):
                told = self._read(record)
                if told == TIED and not dropped(record, self._keep):
                    votes = self.rule.votes(record)
                    one.votes.add(votes, key)
                    said.append(_said(votes, 0.5))
                if isinstance(told, str):
                    one.unused[told] += 1
                    continue
                one.votes.add(told.votes, key)
                said.append(_said(told.votes, told.shown))
                if parts:
                    one.fields.update(_fields(record))
                labels.append(told.value)
                clusters.append(key)
                one.grouped |= record.group is not None
                if record.model is not None:
                    models.add(record.model)
        one.labels, one.clusters = np.array(labels), np.array(clusters, np.int64)
        one.positives = sum(map(self.rule.is_positive, labels))
        one.models = len(models) or None
        one.people_mean = float(np.mean(said)) if said else None
        one.fields = one.fields if parts else Counter(one.check.fields)
        if one.check.bad_total:
            one.unused["bad_row"] = one.check.bad_total

    def _check(self) -> None:
        """Tell of sets without a label. InputError where nothing is left, or of one kind only."""
        for one in self.given:
            if not one.n:
                self.notes.append(self._nothing(one))
        if not self.sets:
            raise InputError("; ".join(self.notes))
        n, positives = self.n, sum(one.positives for one in self.sets)
        same = len(np.unique(np.concatenate([one.labels for one in self.sets]))) == 1
        if self.rule.graded:
            self._check_preferences()
        if self.rule.graded or (self.rule.ordinal and not same):
            return
        if positives in (0, n):
            unused = sum((one.unused for one in self.given), Counter[str]())
            rest = f"; {_counted(unused)}" if unused else ""
            raise InputError(
                f"label {self.rule.label!r}: {positives:,} of {n:,} labelled records are positive "
                f"(above {self.rule.positive_above:g}){rest}; expected some of both kinds. "
                "Another limit is set by --positive-above"
            )

    def _nothing(self, one: LabelledSet) -> str:
        """Why a set has nothing that can serve."""
        if one.unused.keys() - _WITHOUT == {_NO_PAIR}:
            labelled, counts = "", ""
            if one.unused[NO_LABEL]:
                labelled = f"that has the label {self.rule.label!r} "
                counts = f" ({_counted(one.unused)})"
            return (
                f"{one.path}: no record {labelled}has `response_b`{counts}; --pairs compares "
                "`response` with `response_b`; name your column with --map response_b=COLUMN"
            )
        usable = "" if one.unused.keys() <= _WITHOUT else "that can be used "
        return (
            f"{one.name}: no record {usable}has the label {self.rule.label!r} "
            f"({_counted(one.unused)})"
        )

    def _check_preferences(self) -> None:
        """InputError where people prefer nothing: no metric can agree with that."""
        if not any(one.labels.any() for one in self.sets):
            where = ", ".join(one.path for one in self.sets)
            raise InputError(
                f"{where}: {self.n:,} of {self.n:,} preferences are 0 (neither is better); "
                f"expected some that are not: {self.rule.label} above 0 where `response` is "
                "better, below 0 where `response_b` is"
            )


def _said(votes: Votes, shown: float) -> float:
    """What people say of a record on average."""
    return fmean(votes.values()) if votes else shown


def _fields(record: Record) -> Iterator[str]:
    return (name for name in record.__struct_fields__ if getattr(record, name) is not None)


def _counted(unused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in sorted(unused.items()))
