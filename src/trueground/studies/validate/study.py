"""How far metrics agree with people: labelled sets in, every measure of agreement out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueground._version import __version__
from trueground.errors import InputError, UsageError
from trueground.evaluate.parts import JudgeName, Parts, make_parts
from trueground.evaluate.stream import Stream, make_stream
from trueground.evaluate.work import Progress, no_progress
from trueground.metrics.base import Spec
from trueground.metrics.registry import parse_specs, split_specs
from trueground.studies.validate import pairs
from trueground.studies.validate.labels import DEFAULT_LABEL
from trueground.studies.validate.merged import LabelFiles
from trueground.studies.validate.numbers import Manner, Totals, measure_set
from trueground.studies.validate.people import ceiling_of
from trueground.studies.validate.result import FORMAT, Out, Validation
from trueground.studies.validate.runs import Runs
from trueground.studies.validate.scored import ScoredSet, higher_is_better, read_run, score_sets
from trueground.studies.validate.sets import LabelledSet, LabelledSets
from trueground.studies.validate.worst import describe

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges.rating import Rater


@dataclass(frozen=True)
class Settings:
    """How to validate; the fields are the options of the command line."""

    label: str | None = None
    metrics: str | Sequence[str | Spec] | None = None
    judge: JudgeName | Sequence[JudgeName] | None = None  # None: lexical
    decomposer: str | Decomposer | None = None  # None: rules
    rater: str | Rater | None = None
    cache: bool = True
    judge_calibration: str | Path | None = None
    positive_above: float = 0.5
    ordinal: bool = False
    threshold: float = 0.5
    pairs: bool = False
    labels: Sequence[str | Path] = ()  # files of `trueground annotate`
    worst: int = 10
    mapping: Mapping[str, str] | None = None
    on_bad_row: Literal["stop", "skip"] = "stop"
    limit: int | None = None
    seed: int = 0
    resamples: int = 2_000
    level: float = 0.95
    workers: int | None = 1
    overwrite: bool = False
    progress: Progress = no_progress
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("seed", 0), ("resamples", 1), ("worst", 0)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise UsageError(f"{name}={value!r}; it must be a whole number, {least} or more")
        if not 0 < self.level < 1:
            raise UsageError(f"level={self.level!r}; it must be a number between 0 and 1")
        if not 0 <= self.threshold <= 1:
            raise UsageError(
                f"threshold={self.threshold!r}; scores from 0 to 1 are compared with it"
            )
        if self.pairs and (self.ordinal or self.labels):
            name = "ordinal" if self.ordinal else "labels"
            raise UsageError(f"{name} is for labels of single responses; leave it out with pairs")


def validate(source: Any, *, out: str | Path | None = None, **settings: Any) -> Validation:
    """How far metrics agree with human labels.

    `source` is what `score` takes, or the directory of a finished run with its records (then
    nothing is judged again), or several paths of both kinds; each is a set of its own. `label` is a
    key of `human` (default: "faithful", else the only one); several annotators stand as
    LABEL:ANNOTATOR. A record is positive where its label is above `positive_above`. Without
    `metrics` all of the default set are taken whose fields are present. With `pairs` a record has a
    `response_b` too, and `human.preference` says which is better (above 0: `response`). `out` is a
    folder, a .json or a .html file. The other settings are the fields of `Settings`.

    Raises UsageError for names and options, InputError and BadRowsError for files, labels that are
    absent or of one kind only, OutputError and WriteError for `out`, UnreachableError for a judge.
    """
    unknown = settings.keys() - Settings.__dataclass_fields__.keys()
    if unknown:
        known = ", ".join(Settings.__dataclass_fields__)
        raise UsageError(f"unknown setting {min(unknown)!r}; settings are: {known}")
    return _Study(source, Settings(**settings), out).run()


class _Study:
    """One validation under way."""

    def __init__(self, source: Any, settings: Settings, out: str | Path | None) -> None:
        self._source = source
        self._set = settings
        self._out = None if out is None else Out(Path(out), settings.overwrite)
        self._notes: list[str] = []
        self._start = datetime.now(UTC).isoformat()

    def run(self) -> Validation:
        """The whole of `validate`."""
        s = self._set
        if s.metrics is not None:  # a slip in a name should not cost a pass over the rows
            self._see_names(s.metrics)
        with ExitStack() as stack:
            sets = stack.enter_context(self._sets())
            self._notes += sets.notes
            runs = Runs(sets.sets, s.metrics)
            fresh = [one for one in sets.sets if one.run is None]
            self._see_unused(fresh)
            parts = stack.enter_context(closing(self._parts()))
            stream = make_stream(self._fields(fresh), s.metrics, parts) if fresh else None
            runs.see_signatures({} if stream is None else stream.signatures)
            manner = Manner(sets.rule, s.threshold, s.resamples, s.seed, s.level, s.worst)
            raw = self._head(manner, stream, runs)
            if s.pairs:
                pairs.see_pairs(sets)
                assert stream is not None
                raw["preferences"] = list(
                    pairs.score_pairs(sets, stream, manner, s.workers, s.progress)
                )
            else:
                self._measure(raw, sets, stream, runs, manner)
            raw["notes"] = self._notes + ([parts.note] if parts.note else [])
            found = Validation(raw)
            if self._out is not None:
                self._out.write(found, self._manifest(sets.sets, parts))
            return found

    def _parts(self) -> Parts:
        s = self._set
        return make_parts(
            s.judge or "lexical",
            s.decomposer or "rules",
            s.rater,
            cache=s.cache,
            calibration=s.judge_calibration,
        )

    def _sets(self) -> LabelledSets:
        s = self._set
        files = None
        if s.labels:
            files = LabelFiles([Path(path) for path in s.labels], s.label)
        rule = {"positive_above": s.positive_above, "ordinal": s.ordinal, "graded": s.pairs}
        return LabelledSets(
            self._source,
            label=pairs.LABEL if s.pairs and s.label is None else s.label,
            rule=rule,
            labels=files,
            default=pairs.LABEL if s.pairs else DEFAULT_LABEL,
            use=pairs.lacks if s.pairs else lambda _record: None,
            mapping=s.mapping,
            on_bad_row=s.on_bad_row,
            limit=s.limit,
            progress=lambda rows: s.progress("check", rows, None),
        )

    def _see_names(self, metrics: str | Sequence[str | Spec]) -> None:
        """UsageError for a metric that does not exist; those of runs may stand for judges."""
        parts = [metrics] if isinstance(metrics, str) else metrics
        texts = [p for part in parts if isinstance(part, str) for p in split_specs(part)]
        parse_specs([text.partition("@")[0] for text in texts] or list(parts))

    def _see_unused(self, fresh: Sequence[LabelledSet]) -> None:
        """UsageError: judges are named, and everything is judged already."""
        s = self._set
        named = {
            "judge": s.judge,
            "decomposer": s.decomposer,
            "judge-calibration": s.judge_calibration,
        }
        for name, value in named.items():
            if value is not None and not fresh:
                raise UsageError(
                    f"--{name} is for files of records; finished runs are judged already. Leave "
                    "it out, or name the files that the runs were made of"
                )

    def _fields(self, fresh: Sequence[LabelledSet]) -> list[str]:
        counts: dict[str, int] = {}
        for one in fresh:
            for name, count in one.check.fields.items():
                counts[name] = counts.get(name, 0) + count
        return [name for name, count in counts.items() if count]

    def _measure(
        self,
        raw: dict[str, Any],
        sets: LabelledSets,
        stream: Stream | None,
        runs: Runs,
        manner: Manner,
    ) -> None:
        """Fill in sets, means and pooled numbers. InputError where nothing has a score."""
        totals = Totals(manner)
        entries: dict[int, dict[str, Any]] = {}
        unscored = _Unscored(self._set.metrics is not None)
        for one in self._scored(sets, stream, runs):
            entries[one.set.number] = self._one(sets, one, manner, totals, unscored)
        raw["sets"] = [entries[number] for number in sorted(entries)]
        if not any(entry["metrics"] for entry in raw["sets"]):
            raise InputError("; ".join(unscored.notes()))
        raw["mean"], raw["pooled"] = totals.mean(), totals.pooled()
        self._notes += unscored.notes()

    def _scored(self, sets: LabelledSets, stream: Stream | None, runs: Runs) -> Iterator[ScoredSet]:
        s = self._set
        for one in sets.sets:
            if one.run is not None:
                yield read_run(sets, one, runs.keys(one))
        fresh = [one for one in sets.sets if one.run is None]
        if stream is not None:
            yield from score_sets(sets, fresh, stream, s.workers, s.progress)

    def _one(
        self,
        sets: LabelledSets,
        one: ScoredSet,
        manner: Manner,
        totals: Totals,
        unscored: _Unscored,
    ) -> dict[str, Any]:
        """The entry of one set; its items are written, and its lines given back."""
        of = one.set
        unscored.see(one)
        self._see_kinds(of)
        self._set.progress("measure", of.number - 1, len(sets.sets))
        metrics, rows = measure_set(one, manner, totals)
        for key, worst in describe(sets, one, rows).items():
            metrics[key]["worst"] = worst
        if self._out is not None:
            self._out.write_items(of.name, _items(sets, one))
        one.lines.close()
        self._set.progress("measure", of.number, len(sets.sets))
        return {
            "name": of.name,
            "path": of.path,
            "sha256": of.sha256,
            "n": of.n,
            "positives": of.positives,
            "groups": of.groups,
            "unused": dict(sorted(of.unused.items())),
            "models": of.models,
            "metrics": metrics,
            "ceiling": ceiling_of(one, manner),
        }

    def _see_kinds(self, one: LabelledSet) -> None:
        if not self._set.ordinal and one.positives in (0, one.n):
            kind = "positive" if one.positives else "negative"
            self._notes.append(
                f"{one.name}: all {one.n:,} labels are {kind}, so most measures are undefined there"
            )

    def _head(self, manner: Manner, stream: Stream | None, runs: Runs) -> dict[str, Any]:
        signatures = dict(runs.signatures)
        judge, decomposer = runs.judge, runs.decomposer
        if stream is not None:
            signatures |= stream.signatures
            judge = stream.judges[0] if stream.judges else judge
            decomposer = stream.decomposer or decomposer
        lower = [key for key in signatures if not higher_is_better(key)]
        for key in lower:
            self._notes.append(
                f"{key}: less is better, so it is turned round (1 − x) before it is measured"
            )
        return {
            "format": FORMAT,
            "trueground": __version__,
            "label": manner.rule.label,
            "positive_above": manner.rule.positive_above,
            "ordinal": manner.rule.ordinal,
            "threshold": manner.threshold,
            "judge": judge,
            "decomposer": decomposer,
            "ci_level": manner.level,
            "resamples": manner.resamples,
            "seed": manner.seed,
            "higher_is_better": {key: key not in lower for key in signatures},
            "signatures": signatures,
            "sets": [],
            "mean": {},
            "pooled": {},
            "preferences": None,
            "notes": [],
        }

    def _manifest(self, sets: Sequence[LabelledSet], parts: Parts) -> dict[str, Any]:
        from trueground.evaluate.manifest import judging, shown_word

        return {
            "trueground": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "kind": "validate",
            "status": "finished",
            "command": [shown_word(word) for word in self._set.command],
            "input": [{"path": one.path, "sha256": one.sha256, "n": one.n} for one in sets],
            "start": self._start,
            "end": datetime.now(UTC).isoformat(),
            **judging(parts.spent),
        }


@dataclass
class _Unscored:
    """Metrics without any score in a set.

    Of metrics that were `named` every such set is told, of the default ones only those that have a
    score in no set at all.
    """

    named: bool
    sets: int = 0
    _found: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def see(self, one: ScoredSet) -> None:
        """Find them in a set, with why."""
        self.sets += 1
        for key in one.scores:
            reasons = one.unscored(key)
            if sum(reasons.values()) == one.set.n:
                self._found.setdefault(key, []).append((one.set.name, ", ".join(reasons)))

    def notes(self) -> list[str]:
        """One line for all metrics of which the same is to be told."""
        lines: dict[tuple[str, str], list[str]] = {}
        for key, found in self._found.items():
            if self.named or len(found) == self.sets:
                names = ", ".join(name for name, _ in found)
                where = f" in {names}" if len(found) < self.sets else ""
                reasons = ", ".join(dict.fromkeys(reason for _, reason in found))
                lines.setdefault((where, reasons), []).append(key)
        return [
            f"no score on any item{where} ({reasons}): {', '.join(keys)}"
            for (where, reasons), keys in lines.items()
        ]


def _items(sets: LabelledSets, one: ScoredSet) -> Iterator[dict[str, Any]]:
    """Id, label and scores of each labelled record."""
    columns = {key: values.tolist() for key, values in one.scores.items()}
    row = 0
    for batch in sets.batches(one.set):
        for record, told in batch:
            scores = {key: values[row] for key, values in columns.items()}  # NaN becomes null
            line: dict[str, Any] = {"id": record.id, "label": told.shown, "scores": scores}
            if told.votes:
                line["votes"] = dict(told.votes)
            yield line
            row += 1
