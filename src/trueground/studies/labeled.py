"""Labeled sets of records: every row checked, and every label read, before any work."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.labels import LabelFiles, LabelRule, RecordLabel
from trueground.options import split_pair
from trueground.records import Check, RecordSource
from trueground.studies.finished import FinishedRun, hash_texts
from trueground.types import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Reasons that don't come from `use`.
_LABEL_REASONS = {LabelRule.NO_LABEL, LabelRule.TIED, "bad_row"}


def parse_keep(texts: Iterable[str]) -> dict[str, float]:
    """Return the labels to keep: {"relevant": 1} of `relevant=1`. Raises UsageError."""
    form = "LABEL=VALUE, as in relevant=1 (yes is 1)"
    values_of_words = {"yes": 1.0, "no": 0.0}
    keep: dict[str, float] = {}
    for text in texts:
        name, value = split_pair("--keep", text, form)
        try:
            keep[name] = values_of_words[value] if value in values_of_words else float(value)
        except ValueError:
            raise UsageError(f"--keep {text!r} cannot be read; write {form}") from None
    return keep


def why_dropped(record: Record, keep: Mapping[str, float]) -> str | None:
    """Return which required label a record lacks, or None if it is kept.

    If there are several annotators, more than half must agree.
    """
    for name, required in keep.items():
        agreed = (record.human or {}).get(name)
        votes = [agreed] if agreed is not None else list(LabelRule(name).votes(record).values())
        if 2 * sum(vote == required for vote in votes) <= len(votes):
            return f"not_{name}={required:g}"
    return None


@dataclass
class AnnotatorVotes:
    """Votes of annotators, one entry for each record with votes."""

    _votes: list[Mapping[str, float]] = field(default_factory=list)
    _clusters: list[int] = field(default_factory=list)

    @property
    def annotators(self) -> list[str]:
        """The names of the annotators, sorted."""
        return sorted(set(chain.from_iterable(self._votes)))

    def add(self, votes: Mapping[str, float], cluster: int) -> None:
        """Count the votes on one record in, if there are any."""
        if votes:
            self._votes.append(votes)
            self._clusters.append(cluster)

    def table(self) -> tuple[Floats, Ints]:
        """Return votes, shape (records, annotators), and clusters, shape (records,).

        Missing votes are NaN.
        """
        table = np.full((len(self._votes), len(self.annotators)), np.nan)
        for column, name in enumerate(self.annotators):
            table[:, column] = [votes.get(name, np.nan) for votes in self._votes]
        return table, np.array(self._clusters, np.int64)


@dataclass
class LabeledSet:
    """One file of records, or a finished run (`run`), with its human labels.

    Attributes:
        labels: Labels as the statistics read them, shape (n,).
        clusters: Equal numbers within a group, shape (n,).
        unused: Number of records without a usable label, by reason.
        votes: Votes of annotators, including those on tied records, which have no label.
        people_mean: Mean over records of the annotators' mean, including tied records.
        fields: Field → number of labeled records that have it.
    """

    name: str
    path: str
    number: int
    source: RecordSource
    check: Check
    run: FinishedRun | None
    sha256: str | None
    unused: Counter[str] = field(default_factory=Counter)
    labels: Floats = field(default_factory=lambda: np.empty(0))
    clusters: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    grouped: bool = False
    models: int | None = None
    votes: AnnotatorVotes = field(default_factory=AnnotatorVotes)
    positives: int = 0
    people_mean: float | None = None
    fields: Counter[str] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """Records with a label."""
        return len(self.labels)

    @property
    def grouping(self) -> Ints | None:
        """The clusters, or None if no record has a group."""
        return self.clusters if self.grouped else None

    @property
    def groups(self) -> int | None:
        """The number of clusters, or None if no record has a group."""
        return len(np.unique(self.clusters)) if self.grouped else None


class LabeledSets:
    """Several sets of records under one label; `sets` are those with usable labels.

    Args:
        use: Returns why a record can't be used, or None.

    Raises:
        InputError: No such label, labels of one kind only, a bad row, or an unreadable source.
        UsageError: A file is given twice.
    """

    def __init__(
        self,
        source: Any,
        *,
        label: str | None,
        rule: Mapping[str, Any],
        labels: LabelFiles | None = None,
        default: str = LabelRule.DEFAULT,
        use: Callable[[Record], str | None] = lambda _record: None,
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
        options: dict[str, Any] = {"on_bad_row": on_bad_row, "limit": limit}
        with ExitStack() as stack:
            self.all_sets = []
            for number, (records, name) in enumerate(_name_sources(source), 1):
                run, path = None, records if isinstance(records, str) else "the records given"
                if isinstance(records, str) and records != "-" and Path(records).is_dir():
                    run = FinishedRun.open(Path(records))
                    run.files.check_records()
                    opened = RecordSource.open(str(run.files.records), **options)
                else:
                    opened = RecordSource.open(records, mapping=mapping, **options)
                check = stack.enter_context(opened).check(progress)
                checksums = [file.sha256 for file in check.files[:1]]
                if run is not None:
                    checksums = [file.sha256 or "" for file in run.manifest.input]
                sha256 = checksums[0] if len(checksums) == 1 else None
                if labels is not None and labels.of_parts:
                    run = None  # its scores are of whole responses: no more than its records
                self.all_sets.append(LabeledSet(name, path, number, opened, check, run, sha256))
            label = self._choose_label(label, default) if labels is None else labels.label
            self.rule = LabelRule(label, **rule)
            for labeled_set in self.all_sets:
                self._read_labels(labeled_set)
            self.sets = [records for records in self.all_sets if records.n]
            self._check()
            self._open = stack.pop_all()

    @property
    def n(self) -> int:
        """Labeled records of all sets."""
        return sum(labeled_set.n for labeled_set in self.sets)

    def batches(self, of: LabeledSet) -> Iterator[list[tuple[Record, RecordLabel]]]:
        """The labeled records of a set with their labels, in input order."""
        for batch in self._records(of):
            pairs = ((record, self._read(record)) for record in batch)
            yield [(record, label) for record, label in pairs if isinstance(label, RecordLabel)]

    def mask(self, of: LabeledSet) -> tuple[Ints, NDArray[np.bool_]]:
        """Return hashes of the ids of a set's records, and whether each is used, (records,)."""
        ids, used = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        for batch in self._records(of):
            ids.append(hash_texts(record.id for record in batch))
            used.append(np.array([isinstance(self._read(r), RecordLabel) for r in batch], np.bool_))
        return np.concatenate(ids), np.concatenate(used)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def _read(self, record: Record) -> RecordLabel | str:
        label = self.rule.read(record)
        if isinstance(label, str):
            return label
        return why_dropped(record, self._keep) or self._use(record) or label

    def _records(self, of: LabeledSet) -> Iterator[list[Record]]:
        """Yield the records of a set with their labels, also those from separate files."""
        for batch in of.source.batches():
            if self._files is None:
                yield batch
            else:
                labeled: list[Record] = []
                for record in batch:
                    labeled += self._files.labeled(record, of.number)
                yield labeled

    def _choose_label(self, requested: str | None, default: str) -> str:
        """Return the requested label, or the default one.

        Raises:
            InputError: No record has a label.
            UsageError: The label is unknown, or there are several and none is chosen.
        """
        paths = ", ".join(labeled_set.path for labeled_set in self.all_sets)
        names: Counter[str] = Counter()
        for labeled_set in self.all_sets:
            for batch in self._records(labeled_set):
                for record in batch:
                    names.update(LabelRule.label_of(name) for name in record.human or ())
        if not names:
            raise InputError(
                f'{paths}: no record has a human label; expected a field such as "human": '
                f'{{"{default}": 1}}, or a column of your own, named with --map '
                f"human.{default}=COLUMN"
            )
        if requested is not None and requested not in names:
            raise UsageError.unknown_name("label", requested, names)
        if requested is None and default not in names and len(names) > 1:
            raise UsageError(
                f"{paths}: there are several human labels: {', '.join(sorted(names))}; choose one "
                "with --label"
            )
        return requested or (default if default in names else next(iter(names)))

    def _read_labels(self, labeled_set: LabeledSet) -> None:
        """Read the labels of a set once and keep only their numbers."""
        labels, clusters, people = array("d"), array("q"), array("d")
        is_of_parts = self._files is not None and self._files.of_parts
        models: set[str] = set()
        for batch in self._records(labeled_set):
            # Keys are equal within a group, across sets. A record without a group has its own key.
            keys = hash_texts(
                f"i{labeled_set.number}:{r.id}" if r.group is None else f"g{r.group}" for r in batch
            )
            for record, key in zip(batch, keys.tolist(), strict=True):
                label = self._read(record)
                if isinstance(label, str):
                    labeled_set.unused[label] += 1
                    if label == LabelRule.TIED and not why_dropped(record, self._keep):
                        votes = self.rule.votes(record)
                        labeled_set.votes.add(votes, key)
                        people.append(fmean(votes.values()))
                    continue
                labeled_set.votes.add(label.votes, key)
                people.append(fmean(label.votes.values()) if label.votes else label.shown)
                if is_of_parts:
                    names = record.__struct_fields__
                    labeled_set.fields.update(
                        name for name in names if getattr(record, name) is not None
                    )
                labels.append(label.value)
                clusters.append(key)
                labeled_set.grouped |= record.group is not None
                if record.model is not None:
                    models.add(record.model)
        labeled_set.labels, labeled_set.clusters = np.array(labels), np.array(clusters, np.int64)
        labeled_set.positives = sum(map(self.rule.is_positive, labels))
        labeled_set.models = len(models) or None
        labeled_set.people_mean = fmean(people) if people else None
        if not is_of_parts:
            labeled_set.fields = Counter(labeled_set.check.fields)
        if labeled_set.check.bad_total:
            labeled_set.unused["bad_row"] = labeled_set.check.bad_total

    def _check(self) -> None:
        """Note sets without a label. Raise InputError if no label or only one kind is left."""
        self.notes += [
            self._why_empty(labeled_set) for labeled_set in self.all_sets if not labeled_set.n
        ]
        changed = LabelFiles.describe_changed(self._files.changed if self._files else ())
        if changed:
            self.notes.append(changed)
        if not self.sets:
            raise InputError("; ".join(self.notes))
        if self.rule.graded:
            if any(labeled_set.labels.any() for labeled_set in self.sets):
                return
            paths = ", ".join(labeled_set.path for labeled_set in self.sets)
            raise InputError(
                f"{paths}: {self.n:,} of {self.n:,} preferences are 0 (neither is better); "
                f"expected some that are not: {self.rule.label} above 0 if `response` is better, "
                "below 0 if `response_b` is"
            )
        n, positives = self.n, sum(labeled_set.positives for labeled_set in self.sets)
        labels = np.concatenate([labeled_set.labels for labeled_set in self.sets])
        same = len(np.unique(labels)) == 1
        if positives in (0, n) and (same or not self.rule.ordinal):
            unused = sum((labeled_set.unused for labeled_set in self.all_sets), Counter[str]())
            rest = f"; {_format_counts(unused)}" if unused else ""
            rest += f"; {changed}" if changed else ""
            raise InputError(
                f"label {self.rule.label!r}: {positives:,} of {n:,} labeled records are positive "
                f"(above {self.rule.positive_above:g}){rest}; expected some of both kinds. "
                "Another limit is set by --positive-above"
            )

    def _why_empty(self, labeled_set: LabeledSet) -> str:
        usable = "" if labeled_set.unused.keys() <= _LABEL_REASONS else "that can be used "
        hint = ""
        if labeled_set.unused["no_response_b"]:
            hint = (
                "; --pairs compares `response` with `response_b`; name your column with "
                "--map response_b=COLUMN"
            )
        return (
            f"{labeled_set.name}: no record {usable}has the label {self.rule.label!r} "
            f"({_format_counts(labeled_set.unused)}){hint}"
        )


def _name_sources(source: Any) -> list[tuple[Any, str]]:
    """Return each source with a distinct name. Raise UsageError if a path is given twice."""
    several = isinstance(source, list | tuple) and source
    paths = list(source) if several else [source]
    if not all(isinstance(path, str | PathLike) for path in paths):
        return [(source, "records")]
    paths = [fspath(path) for path in paths]
    names = []
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"{path} is given twice; name each file once")
        name = Path(path).name
        stem = name if Path(path).is_dir() else name.split(".")[0]
        names.append("stdin" if path == "-" else stem or path)
    named = []
    for path, name in zip(paths, names, strict=True):
        named.append((path, name if names.count(name) == 1 else path))
    return named


def _format_counts(unused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(unused.items()))
