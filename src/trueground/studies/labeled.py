"""Labeled sets of records: every row checked, and every label read, before any work."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
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
_NOT_OF_USE = {LabelRule.NO_LABEL, LabelRule.TIED, "bad_row"}  # reasons that do not come from `use`


def parse_keep(texts: Iterable[str]) -> dict[str, float]:
    """Return the labels to keep: {"relevant": 1} of `relevant=1`. Raises UsageError."""
    form = "LABEL=VALUE, as in relevant=1 (yes is 1)"
    words = {"yes": 1.0, "no": 0.0}
    keep: dict[str, float] = {}
    for text in texts:
        name, value = split_pair("--keep", text, form)
        try:
            keep[name] = words[value] if value in words else float(value)
        except ValueError:
            raise UsageError(f"--keep {text!r} cannot be read; write {form}") from None
    return keep


def why_dropped(record: Record, keep: Mapping[str, float]) -> str | None:
    """Which of the wanted labels a record does not have, or has otherwise; None: it stays.

    Of several annotators more than half must agree, as for the label that is measured.
    """
    for name, wanted in keep.items():
        own = (record.human or {}).get(name)
        votes = [own] if own is not None else list(LabelRule(name).votes(record).values())
        if 2 * sum(vote == wanted for vote in votes) <= len(votes):
            return f"not_{name}={wanted:g}"
    return None


@dataclass
class AnnotatorVotes:
    """The votes of annotators, an entry for each record that anybody voted on."""

    _votes: list[Mapping[str, float]] = field(default_factory=list)
    _clusters: list[int] = field(default_factory=list)

    @property
    def annotators(self) -> list[str]:
        """Who voted, sorted."""
        return sorted({name for own in self._votes for name in own})

    def add(self, votes: Mapping[str, float], cluster: int) -> None:
        """Count the votes on one record in, if there are any."""
        if votes:
            self._votes.append(votes)
            self._clusters.append(cluster)

    def table(self) -> tuple[Floats, Ints]:
        """Votes, shape (records, annotators), NaN where there is none; clusters, (records,)."""
        names = self.annotators
        rows = [[own.get(name, np.nan) for name in names] for own in self._votes]
        return np.array(rows, np.float64), np.array(self._clusters, np.int64)


@dataclass
class LabeledSet:
    """One file of records, or a finished run (`run`), with the labels of those that have one.

    `labels` are as the statistics get them, `clusters` equal within a group. `unused` counts
    records without a label. `votes` and `people_mean`, the mean over records of what people say on
    average, are of tied records too: these tell of people, though they have no label.
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
    fields: Counter[str] = field(default_factory=Counter)  # in how many labeled records each is

    @property
    def n(self) -> int:
        """Records with a label."""
        return len(self.labels)

    @property
    def grouping(self) -> Ints | None:
        """The clusters; None where no record names a group."""
        return self.clusters if self.grouped else None

    @property
    def groups(self) -> int | None:
        """How many clusters there are; None where no record names a group."""
        return len(np.unique(self.clusters)) if self.grouped else None


class LabeledSets:
    """Several sets under one label; `sets` are those with anything that can serve.

    `use` tells of a record why it cannot, if so. InputError: no such label, labels of one kind
    only, a bad row, a file or run that cannot be read. UsageError: a file twice.
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
            for number, (one, name) in enumerate(_name_sources(source), 1):
                run, path = None, one if isinstance(one, str) else "the records given"
                if isinstance(one, str) and one != "-" and Path(one).is_dir():
                    run = FinishedRun.open(Path(one))
                    run.files.check_records()
                    opened = RecordSource.open(str(run.files.records), **options)
                else:
                    opened = RecordSource.open(one, mapping=mapping, **options)
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
            for each in self.all_sets:
                self._read_labels(each)
            self.sets = [one for one in self.all_sets if one.n]
            self._check()
            self._open = stack.pop_all()

    @property
    def n(self) -> int:
        """Labeled records of all sets."""
        return sum(one.n for one in self.sets)

    def batches(self, of: LabeledSet) -> Iterator[list[tuple[Record, RecordLabel]]]:
        """The labeled records of a set with their labels, in input order."""
        for batch in self._records(of):
            pairs = ((record, self._read(record)) for record in batch)
            yield [(record, label) for record, label in pairs if isinstance(label, RecordLabel)]

    def mask(self, of: LabeledSet) -> tuple[Ints, NDArray[np.bool_]]:
        """Of every record of a set, shape (records,): the hash of its id, and whether it serves."""
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
        """The records of a set with their labels, also where these stand in files beside them."""
        for batch in of.source.batches():
            if self._files is None:
                yield batch
            else:
                yield [one for r in batch for one in self._files.labeled(r, of.number)]

    def _choose_label(self, wanted: str | None, default: str) -> str:
        """The label that is meant. InputError: there is none. UsageError: unknown, or unclear."""
        where = ", ".join(one.path for one in self.all_sets)
        names: Counter[str] = Counter()
        for one in self.all_sets:
            for batch in self._records(one):
                for record in batch:
                    names.update(LabelRule.label_of(name) for name in record.human or ())
        if not names:
            raise InputError(
                f'{where}: no record has a human label; expected a field such as "human": '
                f'{{"{default}": 1}}, or a column of your own, named with --map '
                f"human.{default}=COLUMN"
            )
        if wanted is not None and wanted not in names:
            raise UsageError.unknown_name("label", wanted, names)
        if wanted is None and default not in names and len(names) > 1:
            raise UsageError(
                f"{where}: there are several human labels: {', '.join(sorted(names))}; choose one "
                "with --label"
            )
        return wanted or (default if default in names else next(iter(names)))

    def _read_labels(self, one: LabeledSet) -> None:
        """Read the labels of a set once; nothing but numbers is kept of them."""
        labels, clusters, people = array("d"), array("q"), array("d")
        parts = self._files is not None and self._files.of_parts
        models: set[str] = set()
        for batch in self._records(one):
            # Equal for records of one group, in whichever set; one without a group is alone.
            keys = hash_texts(
                f"i{one.number}:{r.id}" if r.group is None else f"g{r.group}" for r in batch
            )
            for record, key in zip(batch, keys.tolist(), strict=True):
                label = self._read(record)
                if isinstance(label, str):
                    one.unused[label] += 1
                    if label == LabelRule.TIED and not why_dropped(record, self._keep):
                        votes = self.rule.votes(record)
                        one.votes.add(votes, key)
                        people.append(fmean(votes.values()))
                    continue
                one.votes.add(label.votes, key)
                people.append(fmean(label.votes.values()) if label.votes else label.shown)
                if parts:
                    names = record.__struct_fields__
                    one.fields.update(name for name in names if getattr(record, name) is not None)
                labels.append(label.value)
                clusters.append(key)
                one.grouped |= record.group is not None
                if record.model is not None:
                    models.add(record.model)
        one.labels, one.clusters = np.array(labels), np.array(clusters, np.int64)
        one.positives = sum(map(self.rule.is_positive, labels))
        one.models = len(models) or None
        one.people_mean = fmean(people) if people else None
        if not parts:
            one.fields = Counter(one.check.fields)
        if one.check.bad_total:
            one.unused["bad_row"] = one.check.bad_total

    def _check(self) -> None:
        """Tell of sets without a label. InputError where nothing is left, or of one kind only."""
        self.notes += [self._why_empty(one) for one in self.all_sets if not one.n]
        changed = LabelFiles.describe_changed(self._files.changed if self._files else ())
        if changed:
            self.notes.append(changed)
        if not self.sets:
            raise InputError("; ".join(self.notes))
        if self.rule.graded:
            if any(one.labels.any() for one in self.sets):
                return
            raise InputError(
                f"{', '.join(one.path for one in self.sets)}: {self.n:,} of {self.n:,} preferences "
                f"are 0 (neither is better); expected some that are not: {self.rule.label} above 0 "
                "where `response` is better, below 0 where `response_b` is"
            )
        n, positives = self.n, sum(one.positives for one in self.sets)
        same = len(np.unique(np.concatenate([one.labels for one in self.sets]))) == 1
        if positives in (0, n) and (same or not self.rule.ordinal):
            unused = sum((one.unused for one in self.all_sets), Counter[str]())
            rest = f"; {_format_counts(unused)}" if unused else ""
            rest += f"; {changed}" if changed else ""
            raise InputError(
                f"label {self.rule.label!r}: {positives:,} of {n:,} labeled records are positive "
                f"(above {self.rule.positive_above:g}){rest}; expected some of both kinds. "
                "Another limit is set by --positive-above"
            )

    def _why_empty(self, one: LabeledSet) -> str:
        usable = "" if one.unused.keys() <= _NOT_OF_USE else "that can be used "
        pairs = (
            "; --pairs compares `response` with `response_b`; name your column with "
            "--map response_b=COLUMN"
        ) * bool(one.unused["no_response_b"])
        return (
            f"{one.name}: no record {usable}has the label {self.rule.label!r} "
            f"({_format_counts(one.unused)}){pairs}"
        )


def _name_sources(source: Any) -> list[tuple[Any, str]]:
    """Each source and a name for it, unlike all others. UsageError: a path twice."""
    several = isinstance(source, list | tuple) and source
    paths = list(source) if several else [source]
    if not all(isinstance(path, str | PathLike) for path in paths):
        return [(source, "records")]
    paths = [fspath(path) for path in paths]
    if double := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{double} is given twice; name each file once")
    stems = (
        Path(path).name if Path(path).is_dir() else Path(path).name.split(".")[0] for path in paths
    )
    names = [
        {"-": "stdin"}.get(path, stem or path) for path, stem in zip(paths, stems, strict=True)
    ]
    return [
        (path, name if names.count(name) == 1 else path)
        for path, name in zip(paths, names, strict=True)
    ]


def _format_counts(unused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in sorted(unused.items()))
