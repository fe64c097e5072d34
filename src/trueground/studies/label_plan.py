"""Which answers of a run to label: how many a rate needs with this judge, drawn by its scores."""

# No `from __future__ import annotations`: the command line reads the options here as values.

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from trueground.options import LabelsDrawn, Level, Option, Overwrite, Seed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trueground.studies.finished import FinishedRun
    from trueground.studies.planned_labels import PlannedLabels


STRATA = 5
_METRICS = ("support", "correct_support")


def plan_labels(
    run: str | Path,
    out: Annotated[Path, Option("JSONL file of answers to label, for `annotate export`.")],
    *,
    half_width: Annotated[
        float, Option("Target half width of the interval; 0.03 is 3 points.", metavar="X")
    ] = 0.05,
    metric: Annotated[
        str | None, Option("Metric to sample by. Default: support, or correct_support.")
    ] = None,
    labels: Annotated[
        Sequence[str | Path],
        Option(
            "Pilot labels of some answers, to estimate the judge's accuracy. "
            "Default: labeled sets. Repeatable.",
            "--labels",
            type=list[Path] | None,
        ),
    ] = (),
    labels_drawn: LabelsDrawn = None,
    level: Level = 0.95,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> "PlannedLabels":
    """How many answers of a run to label for an interval of ± `half_width`, and draw these.

    The answers are drawn within five strata of the judge's scores, more where it is less sure, and
    written to `out` with the probability of each (`meta.drawn`); `annotate export` and `import`
    keep it, and `score --labels` weighs by it. What the judge is worth is known from `labels` of
    some of the answers, or else from labeled sets. Fix the number before you look at any label.

    Raises InputError for the run and the labels, UsageError for options, OutputError, WriteError.
    """
    import numpy as np

    from trueground.errors import UsageError
    from trueground.files import OutputPath
    from trueground.metrics import METRICS
    from trueground.stats import LabelSample, mean, sum_counts
    from trueground.studies.finished import FinishedRun
    from trueground.studies.planned_labels import LabelStratum, PlannedLabels

    if not 0 < half_width < 0.5 or not 0 < level < 1:
        raise UsageError(
            f"half_width={half_width}, level={level}; expected a half-width above 0 and below 0.5 "
            "(0.03 for 3 points of 100), and a level between 0 and 1"
        )
    OutputPath(out).check_file("drawn.jsonl", overwrite=overwrite)
    finished = FinishedRun.open(Path(run))
    key = _choose_metric(finished, metric)
    values = finished.read_scores([key]).values[:, 0]
    rows = np.flatnonzero(~np.isnan(values))
    scores = values[rows]
    edges = np.quantile(scores, np.arange(1, STRATA) / STRATA) if len(rows) else scores
    strata = np.unique(np.searchsorted(edges, scores), return_inverse=True)[1]
    declared = METRICS.of_key(key)
    label = (declared.predicted_label if declared else None) or "faithful"
    shares, basis, pilot = _guess_shares(finished, key, label, rows, strata, labels, labels_drawn)
    counts, expected = LabelSample.allocate(shares, strata, half_width, level=level)
    plain = np.full(len(rows), mean(shares))
    alone, _ = LabelSample.allocate(plain, np.zeros_like(strata), half_width, level=level)
    _write_drawn(finished, out, rows, strata, counts, seed)
    return PlannedLabels(
        str(out),
        str(run),
        key,
        label,
        half_width,
        level,
        expected,
        sum_counts(counts),
        sum_counts(alone),
        len(rows),
        len(values) - len(rows),
        basis,
        pilot,
        seed,
        [
            LabelStratum(
                float(stratum_scores.min()),
                float(stratum_scores.max()),
                len(stratum_scores),
                int(counts[k]),
            )
            for k in range(len(counts))
            for stratum_scores in (scores[strata == k],)
        ],
    )


def _choose_metric(run: "FinishedRun", requested: str | None) -> str:
    """The metric by whose scores is drawn. InputError, UsageError."""
    from trueground.errors import InputError, UsageError
    from trueground.metrics import METRICS
    from trueground.stats import LabelSample

    run.files.check_records()
    if (run.manifest.n or 0) < LabelSample.LEAST_LABELS:
        raise InputError(
            f"{run.path}: {run.manifest.n} answers; a rate is corrected from "
            f"{LabelSample.LEAST_LABELS} labels on. Label all, or score more answers"
        )
    predicting = [
        key
        for key in run.signatures
        if (metric := METRICS.of_key(key)) is not None and metric.predicted_label
    ]
    named = [*run.metrics_named(requested)] if requested is not None else [*_METRICS, *predicting]
    chosen = next((key for key in named if key in predicting), None)
    if chosen is None:
        raise UsageError(
            f"{run.path}: {requested or 'no metric of this run'} predicts no label of people; "
            f"expected {', '.join(predicting) or 'a run with support or correct_support'}"
        )
    return chosen


def _guess_shares(
    run: "FinishedRun",
    key: str,
    label: str,
    rows: "NDArray[np.int64]",
    strata: "NDArray[np.int64]",
    labels: Sequence[str | Path],
    labels_drawn: Any,
) -> "tuple[NDArray[np.float64], str, int]":
    """How likely people label each scored answer 1, (rows,), where that is from, pilot labels.

    InputError: labels that cannot be used.
    """
    import numpy as np

    from trueground.errors import InputError
    from trueground.evaluate import LabeledSlice
    from trueground.judges import LabeledVerdicts
    from trueground.metrics import AnswerVerdict
    from trueground.stats import combine, total
    from trueground.types import Answered

    if labels:
        records = ([record] for record in run.iter_records(Answered))
        names = [run.path.name, *filter(None, [run.model])]
        slice_ = LabeledSlice.read(labels, labels_drawn, records, runs=names)
        if label not in slice_.labels:
            raise InputError(
                f"{', '.join(map(str, labels))}: no label {label!r}, which {key} predicts; found "
                f"{', '.join(slice_.labels)}. Name another --metric"
            )
        sample, _ = slice_.draw(label, rows, None)
        pilot_labels, pilot_strata = (
            slice_.labels[label][rows][sample.labeled],
            strata[sample.labeled],
        )
        weights, width = sample.weights * len(pilot_labels), int(strata.max()) + 1
        hits, sizes = (
            np.bincount(pilot_strata, weights * pilot_labels, width),
            np.bincount(pilot_strata, weights, width),
        )
        # Few labels of a stratum are drawn to the share of all, by two more labels.
        return (
            ((hits + 2 * total(hits) / len(pilot_labels)) / (sizes + 2))[strata],
            "pilot",
            len(pilot_labels),
        )
    verdicts = run.read_scores([key]).verdicts
    measured = LabeledVerdicts.of(str(run.verdict_signature))
    if label == "faithful" and measured is not None and verdicts is not None:
        shares = [measured.pooled(name).share for name in AnswerVerdict.NAMES[:3]]
        supported = 1 - np.array([0.5 if share is None else share for share in shares])
        return combine(verdicts[rows][:, :3], supported), "labeled sets", 0
    return np.full(len(rows), 0.5), "nothing", 0


def _write_drawn(
    run: "FinishedRun",
    out: Path,
    rows: "NDArray[np.int64]",
    strata: "NDArray[np.int64]",
    counts: "NDArray[np.int64]",
    seed: int,
) -> None:
    """Write the drawn records, in their order. In a stratum the ids of the lowest hashes are drawn.

    Raises WriteError.
    """
    import msgspec
    import numpy as np

    from trueground.files import OutputPath
    from trueground.labels import LabelDraw
    from trueground.studies.finished import hash_texts
    from trueground.types import Answered, Record

    ranks = hash_texts(f"{seed}/label/{record.id}" for record in run.iter_records(Answered))
    drawn: dict[int, LabelDraw] = {}
    sizes = np.bincount(strata)
    for k, count in enumerate(counts.tolist()):
        stratum_rows = rows[strata == k]
        draw = LabelDraw(count / int(sizes[k]), str(k + 1))
        drawn |= dict.fromkeys(
            stratum_rows[np.argsort(ranks[stratum_rows], kind="stable")][:count].tolist(), draw
        )
    with OutputPath(out).replacing() as file:
        for row, record in enumerate(run.iter_records(Record)):
            if (label_draw := drawn.get(row)) is not None:
                meta = {**(record.meta or {}), "drawn": msgspec.to_builtins(label_draw)}
                line = msgspec.structs.replace(record, human=None, meta=meta)
                file.write(msgspec.json.encode(line) + b"\n")
