"""The label of a record: in its field `human`, or in files of `trueground annotate` beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from trueground.annotation.answers import read_answers
from trueground.annotation.base import LabelDraw, item_of
from trueground.annotation.from_records import Pairing, parts_of
from trueground.annotation.kinds import KINDS
from trueground.annotation.labels import read_labels
from trueground.annotation.lines import UNREADABLE, numbered
from trueground.errors import InputError, UsageError
from trueground.records.files import open_unpacked, packing_of
from trueground.types import Record

DEFAULT_LABEL = "faithful"
NO_LABEL = "no_label"
TIED = "tied"
BY = ":"  # between a label and who gave it
Votes = Mapping[str, float]

# The label that a kind of task gives. The first of which there are any is the one that is meant.
_LABELS = {
    "support": "faithful",
    "correctness": "correct",
    "contains": "contains",
    "contains-list": "contains-list",
    "alignment": "aligned",
    "relevance": "relevant",
}
_KINDS = {label: kind for kind, label in _LABELS.items()}
_OF_RECORDS = ("support", "correctness", "relevance")  # the others ask about parts of a record
_PAIRINGS: tuple[Pairing, ...] = ("gold", "response")


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


def parse_keep(texts: Iterable[str]) -> dict[str, float]:
    """`relevant=1` → {"relevant": 1}. UsageError: no label, or no number."""
    keep: dict[str, float] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            keep[name] = {"yes": 1.0, "no": 0.0}[value] if value in ("yes", "no") else float(value)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(
                f"--keep {text!r} cannot be read; write LABEL=VALUE, as in relevant=1 (yes is 1)"
            )
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
    that got a label.
    """

    def __init__(self, paths: Sequence[Path], wanted: str | None, *, claims: bool = False) -> None:
        """`wanted` is the label meant, such as "faithful" (kind support) or "aligned" (alignment).

        With `claims` parts of records are claims with their texts, as judges are asked.

        InputError: a file that cannot be read or has no such labels. UsageError.
        """
        if wanted is not None and wanted not in _KINDS:
            known = ", ".join(_KINDS)
            raise UsageError(
                f"--labels gives the labels {known}, not {wanted!r}; leave --label out"
            )
        self._claims = claims
        self.draws: dict[str, Any] = {}
        self.found: set[str] = set()
        lines = [path for path in paths if _form(path) == "records"]
        self._by_id = _read_lines(lines, self.draws)
        paths = [path for path in paths if path not in lines]
        self._votes = {
            kind: votes for kind in _LABELS if (votes := _read_votes(kind, paths, self.draws))
        }
        names = {name.partition(BY)[0] for human in self._by_id.values() for name in human}
        kinds = [*self._votes, *(kind for name, kind in _KINDS.items() if name in names)]
        kind = next(iter(kinds), None) if wanted is None else _KINDS[wanted]
        if kind not in kinds:
            known = ", ".join(_LABELS) if kind is None else kind
            there = f"found the labels {', '.join(sorted(names))}; " if names else ""
            raise InputError(
                f"{', '.join(map(str, [*paths, *lines]))}: no labels of the kind {known}; "
                f"{there}expected "
                "a file that `trueground annotate import` wrote, one that an annotator filled in, "
                'or lines such as {"id": "q1", "human": {"faithful": 1}}'
            )
        self._kind = kind
        self.label = _LABELS[kind]
        self.of_parts = kind not in _OF_RECORDS
        tasks = self._votes.get(kind, ()) if self.of_parts else ()
        self._labelled = {item_of(task).rpartition("#")[0] for task in tasks}

    @property
    def ids(self) -> set[str]:
        """The ids of all whole records that the files have labels of, as they stand there."""
        tasks = (t for kind in _OF_RECORDS[:2] for t in self._votes.get(kind, ()))
        return {item_of(task) for task in tasks} | {id_ for id_, _ in self._by_id}

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
        for kind in self._votes:
            if kind in _OF_RECORDS:
                for votes, _ in self._labelled_parts(kind, record, source):
                    for name, value in votes.items():
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
        elif not self._labelled.isdisjoint((record.id, f"{source}:{record.id}")):
            for votes, part in self._labelled_parts(self._kind, record, source):
                yield replace(part, human={**(record.human or {}), **votes})

    def _labelled_parts(
        self, kind: str, record: Record, source: int
    ) -> Iterator[tuple[Votes, Record]]:
        """The parts that tasks of this kind ask about, once each, with their votes."""
        seen: set[str] = set()
        of_kind = self._votes[kind]
        for pairing in _PAIRINGS:
            for task, part in parts_of(kind, record, pairing, claims=self._claims):
                if task not in seen:
                    seen.add(task)
                    if votes := of_kind.get(task) or of_kind.get(f"{source}:{task}"):
                        yield votes, part


def _read_votes(kind: str, paths: Sequence[Path], draws: dict[str, Any]) -> dict[str, Votes]:
    """The labels in files of a kind, by task: of all together, or of each annotator."""
    by_task: dict[str, Votes] = {}
    name, label = KINDS[kind].fields[0].name, _LABELS[kind]
    options = KINDS[kind].fields[0].options
    last = len(options) - 1
    # 1 for the highest option, 0 for the lowest, which stands last; evenly between.
    numbers = {option: (last - place) / last for place, option in enumerate(options)}
    filled = [path for path in paths if _form(path) == "filled"]
    for path in paths:
        if path not in filled:
            for task, merged in read_labels(path, kind).items():
                if (option := merged.values.get(name)) is not None:
                    by_task[task] = {label: numbers[option]}
                    if merged.drawn is not None:
                        draws[item_of(task)] = merged.drawn
    for (of_kind, task), answers in (read_answers(filled).tasks if filled else {}).items():
        if of_kind == kind:
            by_task[task] = {
                f"{label}{BY}{one.annotator}": numbers[one.values[name]]
                for one in answers
                if name in one.values
            }
            if (drawn := answers[0].given.drawn) is not None:
                draws[item_of(task)] = drawn
    return by_task


def _read_lines(paths: Sequence[Path], draws: dict[str, Any]) -> dict[tuple[str, str], Votes]:
    """The labels of lines with `id` and `human`, by id and run ("" where a line names none).

    InputError: a line that cannot be read, or a record that comes twice.
    """
    found: dict[tuple[str, str], Votes] = {}
    decoder = msgspec.json.Decoder(LabelLine, strict=False)
    for path in paths:
        with open_unpacked(path) as lines:
            for number, content in enumerate(lines, 1):
                if not content.strip():
                    continue
                try:
                    line = decoder.decode(content)
                except UNREADABLE as error:
                    raise InputError(
                        f"{path}, line {number}: no label ({error}); expected a line such as "
                        '{"id": "q1", "human": {"faithful": 1}}'
                    ) from None
                human = {k: float(v) for k, v in (line.human or {}).items() if v is not None}
                if not human:
                    continue
                key = str(line.id), "" if line.run is None else str(line.run)
                if key in found:
                    raise InputError(
                        f"{path}, line {number}: {key[0]!r} has a label already; several people's "
                        'labels stand in one line, as "faithful:ANN": 1, "faithful:BEN": 0'
                    )
                found[key] = human
                given = line.probability
                drawn = line.drawn if given is None else {"probability": given}
                if drawn is not None:
                    draws[key[0]] = LabelDraw.of(drawn) or drawn
    return found


def _form(path: Path) -> str:
    """What a file holds: `filled` by an annotator, `labels` of annotate import, or `records`."""
    if path.suffix.lower() == ".csv":
        return "filled"
    if packing_of(path):
        return "records"
    for _, line in numbered(path):
        try:
            first = msgspec.json.decode(line)
        except UNREADABLE:
            return "records" if b'"human"' in line else "labels"
        if not isinstance(first, dict) or "kind" in first:
            return "filled" if isinstance(first, dict) and "answer" in first else "labels"
        return "records" if "id" in first else "labels"
    return "labels"
