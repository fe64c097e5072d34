"""Labels of some of the answers → the rate that people would give all of them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from trueground.errors import InputError, user_messages
from trueground.evaluate.plan import Plan
from trueground.evaluate.table import ItemTable
from trueground.files import file_digest
from trueground.labels import LabelDraw, LabelFiles, LabelRule, RecordLabel
from trueground.metrics import PREDICTED_LABELS, AnswerVerdict, Spec
from trueground.stats import LabelSample, mean, sum_counts, total
from trueground.types import Record

_SHOWN = 3
_ROWS = 65_536
_FAR = 0.2  # by how much the weights' sum may miss the number of items before it is told
RANDOM = "random"


@dataclass
class LabeledSlice:
    """The labels of a source's records, in their order.

    `files` are where they stand, for the manifest. `labels` maps a label to values (records,), 1, 0
    or NaN. `probability` (records,) is that of being labeled, NaN where none is told, `strata`
    (records,) numbers, None where none are told. `random` (records,) says whose labels were
    drawn at random. `unknown` are labeled ids that are not there, or have another text by now
    (`changed`), `notes` what the user should know.
    """

    files: list[dict[str, str]]
    labels: dict[str, NDArray[np.float64]]
    probability: NDArray[np.float64]
    strata: NDArray[np.int64] | None
    random: NDArray[np.bool_]
    unknown: list[str]
    changed: list[str]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        paths: str | Path | Sequence[str | Path],
        drawn: Literal["random"] | None,
        batches: Iterable[Sequence[Record]],
        *,
        source: int = 1,
        runs: Sequence[str] = (),
        by_run: bool = False,
    ) -> Self:
        """Read the labels of these records.

        Args:
            paths: Label files.
            drawn: "random" if these answers were sampled at random, and the files don't say so.
            batches: The records.
            source: As in `LabelFiles.labeled`.
            runs: As in `LabelFiles.labeled`.
            by_run: Whether the files have labels of several runs, so that each line must name one.

        Raises:
            InputError: Files without such labels, ids that are all unknown, too few labels, or a
                sample that is neither random nor weighted.
        """
        label_paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        files = LabelFiles(label_paths)
        where = ", ".join(map(str, label_paths))
        if files.of_parts:
            raise InputError(
                f"{where}: labels of parts of answers ({files.label}); expected labels of whole "
                "answers: `trueground annotate export support` or `correctness`"
            )
        if by_run and files.anonymous:
            raise InputError(
                f"{where}: the label of {files.anonymous!r} names no run. Add "
                '"run" to each line, or give one --labels file per run, in their order'
            )
        known = files.ids
        values = {label: array("d") for label in PREDICTED_LABELS}
        probability, random = array("d"), array("b")
        strata: list[str] = []
        tied = 0
        for batch in batches:
            for record in batch:
                own = replace(record, human=None)  # its own were drawn who knows how
                if record.id in known or f"{source}:{record.id}" in known:
                    (own,) = files.labeled(own, source, runs)
                for label in PREDICTED_LABELS:
                    found = LabelRule(label).read(own)
                    tied += found == LabelRule.TIED
                    values[label].append(found.value if isinstance(found, RecordLabel) else np.nan)
                how: Any = files.draws.get(record.id, files.draws.get(f"{source}:{record.id}"))
                if not (how in (None, RANDOM) or isinstance(how, LabelDraw)):
                    raise InputError(
                        f'{where}: {record.id!r} was drawn {how!r}; expected "random", or a '
                        "probability above 0 and at most 1. Labels of answers that were picked say "
                        "nothing about the others"
                    )
                weighted = how if isinstance(how, LabelDraw) else None
                probability.append(weighted.probability if weighted else np.nan)
                strata.append(weighted.stratum if weighted else "")
                random.append(how == RANDOM or (drawn == RANDOM and weighted is None))
        labels = {k: np.array(v) for k, v in values.items() if not np.isnan(v).all()}
        unknown = sorted(files.ids - files.found - {f"{source}:{id_}" for id_ in files.found})
        changed = files.changed
        if not labels:
            why = "".join(f"; {note}" for note in _note_unknown(unknown, changed))
            expected = " or ".join(map(repr, PREDICTED_LABELS))
            raise InputError(
                f"{where}: no label {expected} of an answer that is scored here{why}; expected "
                "lines such as "
                '{"id": "q1", "human": {"faithful": 1}}, or what `trueground annotate import` '
                "wrote of these very answers"
            )
        notes = [f"{tied:,} labels are tied between people, and left out"] if tied else []
        names = np.unique(strata, return_inverse=True)[1] if any(strata) else None
        told = [{"path": str(path), "sha256": file_digest(path)} for path in label_paths]
        drawing = np.array(probability), names, np.array(random, np.bool_)
        slice_ = cls(told, labels, *drawing, unknown, changed, notes)
        everything = np.arange(len(probability))
        try:
            for label in labels:  # refused before anything is judged
                slice_.draw(label, everything, None)
        except InputError as error:
            raise InputError("; ".join([str(error), *_note_unknown(unknown, changed)])) from None
        return slice_

    def note_unknown(self, other: Self | None = None) -> list[str]:
        """Describe labels of answers that aren't there, or have another text by now.

        With `other` only those count that belong to the answers of neither.
        """
        unknown, changed = self.unknown, self.changed
        if other is not None:
            unknown = sorted({*unknown} & {*other.unknown})
            changed = [id_ for id_ in changed if id_ in other.changed]
        return _note_unknown(unknown, changed)

    def draw(
        self, label: str, rows: NDArray[np.int64], clusters: NDArray[np.int64] | None
    ) -> tuple[LabelSample, list[str]]:
        """How the labels of these rows were drawn, and what is to know of it. InputError."""
        labeled = ~np.isnan(self.labels[label][rows])
        done = sum_counts(labeled)
        LabelSample.check_enough(done, f"labeled answers with {label!r}")
        probability = self.probability[rows]
        notes: list[str] = []
        if labeled.all() or self.random[rows][labeled].all():
            return LabelSample.random(labeled, clusters), notes
        if unknown := sum_counts(np.isnan(probability[labeled])):
            raise InputError(
                f"{unknown:,} of {done:,} labels do not say how they were drawn, or with which "
                "probability; a rate can be corrected by a random or a weighted draw only. If it "
                "was random, pass --labels-drawn random; else draw with `trueground annotate plan "
                'RUN`, or give each line its "probability"'
            )
        stands_for = total(1 / probability[labeled])
        if stands_for < len(rows) / 2 and not self.unknown:
            drawn = max(done + 1, round(done * len(rows) / stands_for))
            raise InputError(
                f"about {drawn - done:,} of about {drawn:,} sampled answers are not labeled yet. "
                f"By their probabilities, these {done:,} labels represent about "
                f"{stands_for:,.0f} of {len(rows):,} answers. Label the others, then rerun the "
                "command"
            )
        if not len(rows) / 2 <= stands_for <= len(rows) * 2:
            raise InputError(
                f"by their probabilities, the labels represent about {stands_for:,.0f} answers, "
                f"but {len(rows):,} are scored. They were sampled from other answers. Sample from "
                "this run with `trueground annotate plan RUN`"
            )
        if abs(stands_for - len(rows)) > _FAR * len(rows):
            notes.append(
                f"by their probabilities the labels stand for about {stands_for:,.0f} of "
                f"{len(rows):,} answers: see whether all that were drawn are labeled"
            )
        strata = None if self.strata is None else self.strata[rows]
        draw = LabelSample(labeled, probability, strata, clusters)
        if draw.equal:
            return LabelSample.random(labeled, clusters), notes
        return draw, notes


def _note_unknown(ids: Sequence[str], changed: Collection[str]) -> list[str]:
    """What is told of labels of answers that are not there, or have another text by now."""
    missing = [id_ for id_ in ids if id_ not in changed]
    noun = "id is" if len(missing) == 1 else "ids are"
    some = f"{', '.join(missing[:_SHOWN])}{', …' if len(missing) > _SHOWN else ''}"
    told = f"{len(missing):,} labeled {noun} not among the answers ({some})"
    return [
        note for note in (told if missing else "", LabelFiles.describe_changed(changed)) if note
    ]


def correct_rates(plan: Plan, table: ItemTable, slice_: LabeledSlice) -> dict[str, dict[str, Any]]:
    """Metric → its entry in `corrected` of the summary, of those that predict a label.

    Only what lies within 0…1 does. What is refused now, after the work, is told: some labeled
    answers have no score.
    """
    found: dict[str, dict[str, Any]] = {}
    refused: InputError | None = None
    clusters = table.clusters if len(np.unique(table.clusters)) < table.n else None
    for key, label in predicted_labels(plan.specs).items():
        at = plan.keys.index(key)
        blocks = (table.scores[low : low + _ROWS][:, at] for low in range(0, table.n, _ROWS))
        values = np.concatenate([np.empty(0), *blocks])
        rows = np.flatnonzero(~np.isnan(values))
        own = values[rows]
        if label not in slice_.labels or not len(rows) or own.min() < 0 or own.max() > 1:
            continue
        groups = None if clusters is None else clusters[rows]
        try:
            draw, notes = slice_.draw(label, rows, groups)
            corrected = draw.correct_rate(own, slice_.labels[label][rows], level=plan.level)
        except InputError as error:
            refused = error
            continue
        if draw.is_shifted(own):
            notes = [
                *notes,
                "the judge's scores of the labeled answers differ from those of all: see whether "
                "the labels were drawn as they say",
            ]
        found[key] = {
            "label": label,
            "mean": corrected.mean,
            "ci": corrected.ci,
            "ci_new": corrected.ci_new,
            "ci_level": corrected.level,
            "n": len(rows),
            "labels": corrected.labels,
            "labels_mean": corrected.labels_mean,
            "labels_ci": corrected.labels_ci,
            "judge_mean": mean(own),
            "method": corrected.method,
            "lambda": corrected.weight,
            "drawn": "all" if draw.labeled.all() else "random" if draw.equal else "weighted",
            "clusters": None if groups is None else len(np.unique(groups)),
            "notes": [*slice_.note_unknown(), *slice_.notes, *notes],
        }
    if refused is not None and not found:
        user_messages.show(f"WARNING: no rate is corrected: {refused}")
    return found


def count_labeled(plan: Plan, table: ItemTable, slice_: LabeledSlice) -> dict[str, list[int]]:
    """Verdict → [labeled answers, how many of them people called unsupported]; empty where no
    answer has a verdict or a label "faithful".
    """
    faithful = slice_.labels.get("faithful")
    if faithful is None or plan.verdicts_at is None:
        return {}
    rows = np.flatnonzero(~np.isnan(faithful))
    at = plan.verdicts_at
    codes = AnswerVerdict.encode(table.scores[rows][:, at], table.status[rows][:, at])
    unsupported = faithful[rows] == 0
    return {
        name: [sum_counts(codes == place), sum_counts(unsupported & (codes == place))]
        for place, name in enumerate(AnswerVerdict.NAMES)
    }


def check_predicted(plan: Plan, slice_: LabeledSlice) -> LabeledSlice:
    """The same; InputError where no metric predicts any of the labels."""
    if slice_.labels.keys().isdisjoint(predicted_labels(plan.specs).values()):
        raise InputError(
            f"no metric of this run predicts the label {' or '.join(map(repr, slice_.labels))}; "
            "faithful goes with support and other metrics of faithfulness, correct with "
            "correct_support and other metrics of correctness: name one with --metrics"
        )
    return slice_


def predicted_labels(specs: Iterable[Spec]) -> dict[str, str]:
    """Metric → the label that it predicts, of those metrics that predict one."""
    return {spec.key: label for spec in specs if (label := spec.metric.predicted_label)}
