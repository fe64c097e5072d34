"""Labels: merged ones in files; and a record's, in its field `human` or in files beside it."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from trueground.annotation.answers import read_answers
from trueground.annotation.base import Label, LabelDraw, item_of
from trueground.annotation.files import decode_lines
from trueground.annotation.kinds import KINDS, TaskKind
from trueground.annotation.record_parts import MissingPart
from trueground.errors import InputError, UsageError
from trueground.records.files import open_unpacked
from trueground.records.problems import UNREADABLE, describe, shorten
from trueground.types import Record

DEFAULT_LABEL = "faithful"
NO_LABEL = "no_label"
TIED = "tied"
BY = ":"  # between a label and who gave it
Votes = Mapping[str, float]

# The kinds that give labels. The first label of which there are any is the one that is meant; where
# two kinds give a record the same label, the first does.
_FIRST = ("support", "span", "correctness", "contains", "contains-list", "alignment", "relevance")
_KINDS = [KINDS[name] for name in dict.fromkeys((*_FIRST, *KINDS)) if KINDS[name].label]
_LABELS = {kind.label: kind.label_of for kind in _KINDS}
_EXAMPLE = '{"id": "q1", "human": {"faithful": 1}}'


def list_paths(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """One path or several, as they are given in Python."""
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def describe_changed(ids: Collection[str]) -> str:
    """What is told of labels whose answers have another text now; empty where there are none."""
    if not ids:
        return ""
    labels, them = ("label is", "it") if len(ids) == 1 else ("labels are", "them")
    return (
        f"{len(ids):,} {labels} of another text than the answer has now, {next(iter(ids))!r} the "
        f"first: export and label {them} again, or give the answers as they were labelled"
    )


def read_labels(path: str | Path, kind: str) -> dict[str, Label]:
    """The labels of `kind` in a file of merged labels, by task id. InputError names the line."""
    return {id_: label for (of, id_), label in _read_merged(Path(path)).items() if of == kind}


def _read_merged(path: Path) -> dict[tuple[str, str], Label]:
    """All labels of such a file, by kind and id."""
    found: dict[tuple[str, str], Label] = {}
    lines: dict[tuple[str, str], int] = {}
    remedy = "expected a line that `trueground annotate import` wrote, with kind, id and values"
    for number, label in decode_lines(path, Label, "not a label", remedy):
        name = label.kind, label.id
        if name in found:
            raise InputError(
                f"{path}, line {number}: task {label.id!r} already has a label in line "
                f"{lines[name]}; each task has one, as `trueground annotate import` writes them"
            )
        found[name], lines[name] = label, number
    return found


@dataclass(frozen=True)
class RecordLabel:
    """A record's label.

    `value` is what the statistics get: 1 or 0, or the label as it is where labels are ordinal.
    `shown` is what stands in the record, or what annotators make of it together: their mean, or the
    share of them that is positive. `votes` are theirs, one by one.
    """

    value: float
    shown: float
    votes: Votes = field(default_factory=dict)


@dataclass(frozen=True)
class LabelRule:
    """How the label of a record is found.

    Several annotators stand as LABEL:ANNOTATOR. Where LABEL itself is absent, more than half of
    them decide; with `ordinal` the label is their mean. With `graded` (preferences) it is their
    mean too, and never tied.
    """

    label: str
    positive_above: float = 0.5
    ordinal: bool = False
    graded: bool = False

    def read(self, record: Record) -> RecordLabel | str:
        """The label, or why there is none: `no_label`, or `tied` where annotators are."""
        votes = self.votes(record)
        own = (record.human or {}).get(self.label)
        if own is None and not votes:
            return NO_LABEL
        if self.ordinal or self.graded:
            value = fmean(votes.values()) if own is None else own
            return RecordLabel(value, value, votes)
        if own is not None:
            return RecordLabel(float(own > self.positive_above), own, votes)
        share = fmean(vote > self.positive_above for vote in votes.values())
        return TIED if share == 0.5 else RecordLabel(float(share > 0.5), share, votes)

    def votes(self, record: Record) -> Votes:
        """The vote of each annotator, also where they are tied."""
        start = self.label + BY
        labels = (record.human or {}).items()
        return {name[len(start) :]: value for name, value in labels if name.startswith(start)}

    def is_positive(self, value: float) -> bool:
        """Whether a label, as the statistics get it, is a positive one."""
        return value > (self.positive_above if self.ordinal else 0.5)


class LabelLine(msgspec.Struct):
    """A line with the labels of a record: by its id, and by its run where several have that id.

    `drawn` is "random", or a probability with a stratum (LabelDraw); `probability` is short for it.
    """

    id: str | int
    human: dict[str, float | bool | None] | None = None
    run: str | int | None = None
    drawn: Any = None
    probability: float | None = None


class LabelFiles:
    """Labels by task. A task's id tells what was shown: no label meets another text.

    Files are what `annotate import` wrote (one label a task), what annotators filled in (each with
    a name, so that they can be held against each other), or lines with `id` and `human`. `draws`
    says by record how those came to be labelled that tell it; `found` are the ids of the records
    that got a label. `label` is the one that is meant, `of_parts` whether it is of parts of
    records.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        wanted: str | None = None,
        *,
        claims: bool = False,
    ) -> None:
        """`wanted` is the label meant, such as "faithful" (of support and span) or "aligned".

        With `claims` parts of records are claims with their texts, as judges are asked.

        InputError: a file that cannot be read or has no such labels. UsageError.
        """
        if wanted is not None and wanted not in _LABELS:
            raise UsageError(
                f"--labels gives the labels {', '.join(_LABELS)}, not {wanted!r}; leave --label out"
            )
        self.draws: dict[str, Any] = {}
        self.found: set[str] = set()
        self._changed: dict[str, str] = {}
        self._claims = claims
        self._by_id: dict[tuple[str, str], Votes] = {}  # id and run, "" where none is named
        self._by_task: dict[str, dict[str, Votes]] = {kind.name: {} for kind in _KINDS}
        forms = {path: _find_form(path) for path in list_paths(paths)}
        for path, form in forms.items():
            if form in ("lines", "table"):
                self._read_lines(path, form)
        merged, filled = (
            [path for path, form in forms.items() if form == wanted_form]
            for wanted_form in ("labels", "filled")
        )
        for kind, task, votes, drawn in _read_votes(merged, filled):
            self._by_task[kind][task] = votes
            if drawn is not None:
                self.draws[item_of(task)] = drawn
        named = {name.partition(BY)[0] for human in self._by_id.values() for name in human}
        there = [kind.label for kind in _KINDS if self._by_task[kind.name]]
        there += [label for label in _LABELS if label in named]
        if not there or wanted not in (None, *there):
            kinds = [kind.name for kind in _KINDS if wanted in (None, kind.label)]
            found = f"found the labels {', '.join(sorted(named))}; " if named else ""
            raise InputError(
                f"{', '.join(map(str, forms))}: no labels of the kind {', '.join(kinds)}; {found}"
                "expected a file that `trueground annotate import` wrote, one that an annotator "
                f"filled in, lines such as {_EXAMPLE}, or a table (.csv) with the columns id and "
                f"{DEFAULT_LABEL}"
            )
        self.label = wanted or there[0]
        self.of_parts = _LABELS[self.label] == "part"
        self._records = {
            kind.name: {
                item_of(task) if kind.label_of == "record" else item_of(task).rpartition("#")[0]
                for task in self._by_task[kind.name]
            }
            for kind in _KINDS
        }

    @property
    def ids(self) -> set[str]:
        """The ids of all whole records that the files have labels of, as they stand there."""
        ids = {id_ for id_, _ in self._by_id}
        for kind in _KINDS:
            ids |= self._records[kind.name] if kind.label_of == "record" else set()
        return ids

    @property
    def changed(self) -> list[str]:
        """The ids, as they stand in the files, whose records had another text when labelled."""
        return [id_ for id_, record in self._changed.items() if record not in self.found]

    @property
    def anonymous(self) -> str | None:
        """The first id whose label tells neither what was shown nor of which run the answer is."""
        return next((id_ for id_, run in self._by_id if not run), None)

    def labelled(self, record: Record, source: int, runs: Sequence[str] = ()) -> Iterator[Record]:
        """A record of the source of that number (from 1) with its labels in `human`.

        Lines that name a run count where it is one of `runs`, the names of the source. Where labels
        are of parts of records, each part that anybody labelled, as a record. Of a whole record
        with a task for each passage the highest label counts.
        """
        human: dict[str, float] = {}
        for kind in (kind for kind in _KINDS if kind.label_of != "part"):
            earlier = {name.partition(BY)[0] for name in human}
            for votes, _ in self._find_parts(kind, record, source):
                for name, value in votes.items() if kind.label not in earlier else ():
                    human[name] = max(value, human.get(name, value))
        for run in ("", *runs):
            human |= self._by_id.get((record.id, run), {})
        if human:
            self.found.add(record.id)
        # Labels in the record give way to those of the same name in files.
        own = (record.human or {}).items()
        others = {name: v for name, v in own if name.partition(BY)[0] != self.label}
        record = replace(record, human={**others, **human})
        if not self.of_parts:
            yield record
        else:
            (kind,) = (kind for kind in _KINDS if kind.label == self.label)
            for votes, part in self._find_parts(kind, record, source):
                yield replace(part, human={**(record.human or {}), **votes})

    def _find_parts(
        self, kind: TaskKind, record: Record, source: int
    ) -> Iterator[tuple[Votes, Record]]:
        """What labelled tasks of a record ask about, as a record each, with the votes."""
        by_task = self._by_task[kind.name]
        names = self._records[kind.name] & {record.id, f"{source}:{record.id}"}
        seen: set[str] = set()
        for pairing in ("gold", "response") if names else ():
            try:
                for task, part in kind.tasks_of(record, pairing):
                    votes = by_task.get(task.id) or by_task.get(f"{source}:{task.id}")
                    if votes and task.id not in seen:
                        seen.add(task.id)
                        self.found.add(record.id)
                        yield votes, part.record(record, task.item, claims=self._claims)
            except MissingPart:
                continue
        if not seen:
            self._changed |= dict.fromkeys(sorted(names), record.id)

    def _read_lines(self, path: Path, form: str) -> None:
        """Lines with `id` and `human`. InputError: no such line, or a record that comes twice."""
        expected = f"expected a line such as {_EXAMPLE}"
        lines = decode_lines(path, LabelLine, "no label", expected, strict=False)
        for number, line in _rows_of(path) if form == "table" else lines:
            human = {k: float(v) for k, v in (line.human or {}).items() if v is not None}
            if not human:
                continue
            key = str(line.id), "" if line.run is None else str(line.run)
            if key in self._by_id:
                raise InputError(
                    f"{path}, line {number}: {key[0]!r} has a label already; several people's "
                    'labels stand in one line, as "faithful:ANN": 1, "faithful:BEN": 0'
                )
            self._by_id[key] = human
            share = line.probability
            drawn = line.drawn if share is None else {"probability": share}
            if drawn is not None:
                self.draws[key[0]] = LabelDraw.of(drawn) or drawn


def _rows_of(path: Path) -> Iterator[tuple[int, LabelLine]]:
    """The lines of a plain table: the column `id`, one for each label, and `run`, `drawn` or
    `probability` where they are told. InputError.
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.DictReader(file)
        for row in reader:
            told = ((name, cell) for name, cell in row.items() if name and isinstance(cell, str))
            cells = {name: cell.strip() for name, cell in told if cell.strip()}
            human = {name: cell for name, cell in cells.items() if name.partition(BY)[0] in _LABELS}
            try:
                yield (
                    reader.line_num,
                    msgspec.convert(cells | {"human": human}, LabelLine, strict=False),
                )
            except msgspec.ValidationError:
                found = ", ".join(f"{name} {shorten(cell)!r}" for name, cell in cells.items())
                raise InputError(
                    f"{path}, line {reader.line_num}: no label ({found}); expected an id, and 1 or "
                    f"0 under {', '.join(human) or DEFAULT_LABEL}"
                ) from None


def _read_votes(
    labels: Sequence[Path], filled: Sequence[Path]
) -> Iterator[tuple[str, str, Votes, LabelDraw | None]]:
    """Kind, task, votes and draw: of all people together in `labels`, of each one in `filled`."""
    for path in labels:
        for (kind, task), merged in _read_merged(path).items():
            if kind in KINDS and (label := KINDS[kind].label):
                try:
                    vote = KINDS[kind].vote(merged.values)
                except ValueError:
                    field = KINDS[kind].fields[0]
                    raise InputError(
                        f"{path}: the label of {task!r} says {field.name}: "
                        f"{describe(merged.values[field.name])}; expected "
                        f"{field.describe_expected(field.options)}"
                    ) from None
                if vote is not None:
                    yield kind, task, {label: vote}, merged.drawn
    for (kind, task), answers in (read_answers(filled).tasks if filled else {}).items():
        if label := KINDS[kind].label:
            votes = {f"{label}{BY}{one.annotator}": KINDS[kind].vote(one.values) for one in answers}
            known = {name: vote for name, vote in votes.items() if vote is not None}
            if known:
                yield kind, task, known, answers[0].task.drawn


def _find_form(path: Path) -> str:
    """What a file holds: `filled` by an annotator, `labels` of annotate import, `lines`, or the
    same as a `table`.
    """
    with open_unpacked(path) as lines:
        line = next((line for line in lines if line.strip()), b"")
    if path.suffix.lower() == ".csv":
        names = next(csv.reader([line.decode("utf-8-sig", "replace")]), [])
        return "table" if "id" in names and "kind" not in names else "filled"
    try:
        first = msgspec.json.decode(line)
    except UNREADABLE:
        return "lines" if b'"human"' in line else "labels"
    if not isinstance(first, dict) or not {"kind", "id"} & first.keys():
        return "labels"
    if "kind" in first:
        return "filled" if "answer" in first else "labels"
    return "lines"
