"""How far metrics agree with people: labelled sets in, every measure of agreement out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from trueground._version import __version__
from trueground.errors import InputError, RunInterrupted, UsageError
from trueground.evaluate.manifest import judging, shown_word
from trueground.evaluate.parts import Parts
from trueground.evaluate.stream import Stream, make_stream
from trueground.studies.labelled.merged import LabelFiles
from trueground.studies.labelled.rule import DEFAULT_LABEL
from trueground.studies.labelled.sets import LabelledSet, LabelledSets
from trueground.studies.validate import pairs
from trueground.studies.validate.head import head_of, lower_notes
from trueground.studies.validate.notes import Unscored, one_grade, one_kind, shared_groups
from trueground.studies.validate.numbers import Manner
from trueground.studies.validate.one_set import measure_set
from trueground.studies.validate.people import ceiling_of
from trueground.studies.validate.published import beside_published
from trueground.studies.validate.result import Out, Validation
from trueground.studies.validate.runs import Runs
from trueground.studies.validate.scored import ScoredSet, read_run, score_sets
from trueground.studies.validate.settings import Settings, ValidateOptions
from trueground.studies.validate.totals import Totals
from trueground.studies.validate.worst import describe


def validate(
    source: Any, *, out: str | Path | None = None, **settings: Unpack[ValidateOptions]
) -> Validation:
    """How far metrics agree with human labels.

    `source` is what `score` takes, or the directory of a finished run with its records (then
    nothing is judged again), or several paths of both kinds; each is a set of its own. `label` is a
    key of `human` (default: "faithful", else the only one); several annotators stand as
    LABEL:ANNOTATOR. A record is positive where its label is above `positive_above`. Without
    `metrics` all of the default set are taken whose fields are present. With `pairs` a record has a
    `response_b` too, and `human.preference` says which is better (above 0: `response`). `out` is a
    folder, a .json or a .html file. The other settings are the fields of `Settings`.

    Raises UsageError for names and options, InputError and BadRowsError for files, labels that are
    absent or of one kind only, OutputError and WriteError for `out`, UnreachableError for a judge,
    RunInterrupted on Ctrl-C.
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
        """The whole of `validate`; where it fails nothing is left behind."""
        try:
            return self._run()
        except BaseException as error:
            if self._out is not None:
                self._out.undo()
            if isinstance(error, KeyboardInterrupt):
                kept = "; replies already paid for are kept in the cache" if self._set.cache else ""
                raise RunInterrupted(f"interrupted; nothing was written{kept}") from None
            raise

    def _run(self) -> Validation:
        s = self._set
        s.check_names()  # a slip in a name should not cost a pass over the rows
        with ExitStack() as stack:
            sets = stack.enter_context(self._sets())
            self._notes += sets.notes
            runs = Runs(sets.sets, s.metrics)
            fresh = [one for one in sets.sets if one.run is None]
            if not fresh:
                s.check_judging()
            parts = stack.enter_context(closing(s.parts()))
            stream = make_stream(self._fields(fresh), s.metrics, parts) if fresh else None
            runs.check_signatures({} if stream is None else stream.signatures)
            manner = Manner(
                sets.rule,
                s.threshold,
                s.resamples,
                s.seed,
                s.level,
                s.worst,
                s.verdict_meant,
                s.workers,
            )
            raw = head_of(manner, stream, runs)
            self._notes += lower_notes(raw)
            if s.pairs:
                stream = pairs.check_pairs(sets, stream)
                raw["preferences"], raw["mean"] = pairs.score_pairs(
                    sets, stream, manner, s.workers, s.progress
                )
            else:
                self._measure(raw, sets, stream, runs, manner)
            if s.with_published:
                raw["published"] = beside_published(raw)
            note = parts.note if stream is None else stream.plan.note
            raw["notes"] = self._notes + ([note] if note else [])
            found = Validation(raw)
            if self._out is not None:
                self._out.write(found, self._manifest(sets.sets, parts))
            return found

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
            keep=s.keep,
            mapping=s.mapping,
            on_bad_row=s.on_bad_row,
            limit=s.limit,
            progress=lambda rows: s.progress("check", rows, None),
        )

    def _fields(self, fresh: Sequence[LabelledSet]) -> list[str]:
        counts: dict[str, int] = {}
        for one in fresh:
            for name, count in one.fields.items():
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
        unscored = Unscored(self._set.metrics is not None)
        for one in self._scored(sets, stream, runs):
            with closing(one.lines):
                entries[one.set.number] = self._one(sets, one, manner, totals, unscored)
        raw["sets"] = [entries[number] for number in sorted(entries)]
        if not any(entry["metrics"] for entry in raw["sets"]):
            raise InputError("; ".join(unscored.notes()))
        raw["mean"], raw["pooled"] = totals.mean(), totals.pooled()
        each, raw["differences"] = totals.differences(raw["mean"])
        for number, entry in entries.items():
            entry["differences"] = each[number]
        self._notes += shared_groups(sets.sets)
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
        unscored: Unscored,
    ) -> dict[str, Any]:
        """The entry of one set; its items are written, and its lines given back."""
        of = one.set
        unscored.check(one)
        note = one_grade(of, manner.rule) if self._set.ordinal else one_kind(of)
        if note:
            self._notes.append(note)
        self._set.progress("measure", of.number - 1, len(sets.sets))
        metrics, rows = measure_set(one, manner, totals)
        for key, worst in describe(sets, one, rows).items():
            metrics[key]["worst"] = worst
        if self._out is not None:
            self._out.write_items(of.name, _items(sets, one))
        self._set.progress("measure", of.number, len(sets.sets))
        return {
            "name": of.name,
            "path": of.path,
            "sha256": of.sha256,
            "n": of.n,
            "positives": of.positives,
            "people_mean": of.people_mean,
            "groups": of.groups,
            "unused": dict(sorted(of.unused.items())),
            "models": of.models,
            "metrics": metrics,
            "ceiling": ceiling_of(one, manner),
        }

    def _manifest(self, sets: Sequence[LabelledSet], parts: Parts) -> dict[str, Any]:
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
