"""How far metrics agree with people: labeled sets in, every measure of agreement out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from trueground.evaluate import JudgeCalibrations, Judges, RaterName
from trueground.options import (
    Cache,
    Level,
    OnBadRow,
    Option,
    Overwrite,
    Progress,
    Resamples,
    Seed,
    Workers,
    declared_options,
    do_nothing,
)
from trueground.records import Columns
from trueground.studies.options import Label, LabelPaths, PositiveAbove

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.metrics import Spec
    from trueground.studies.validation.result import Validation


def _parse_keep(texts: Sequence[str]) -> dict[str, float]:
    from trueground.studies.labeled import parse_keep

    return parse_keep(texts)


def validate(
    source: Any,
    *,
    label: Label = None,
    labels: LabelPaths = (),
    metrics: Annotated[
        "str | Sequence[str | Spec] | None",
        Option(
            ("Metrics, comma-separated. Default: all that the records allow. Repeatable."),
            type=list[str] | None,
        ),
    ] = None,
    judge: Judges = None,
    decomposer: Annotated[
        "str | Decomposer | None",
        Option(
            ("How answers are split into claims: rules or llm:MODEL. Default: rules."),
            type=str | None,
        ),
    ] = None,
    judge_calibration: JudgeCalibrations = None,
    rater: RaterName = None,
    cache: Cache = True,
    positive_above: PositiveAbove = 0.5,
    ordinal: Annotated[
        bool, Option("Treat labels as grades: correlations keep their order.")
    ] = False,
    threshold: Annotated[
        float, Option("Score threshold for a positive verdict; see --verdict.", min=0.0, max=1.0)
    ] = 0.5,
    verdict: Annotated[
        Literal["above", "at-least"] | None,
        Option(
            "Whether positive scores are above or at least the threshold. Default: "
            "above, or at-least with --with-published."
        ),
    ] = None,
    with_published: Annotated[bool, Option("Include the results published in the papers.")] = False,
    keep: Annotated[
        Mapping[str, float] | None,
        Option(
            "Use only records with this label, such as relevant=1. Repeatable.",
            type=list[str] | None,
            parse=_parse_keep,
            metavar="LABEL=VALUE",
        ),
    ] = None,
    pairs: Annotated[
        bool, Option("Compare `response` with `response_b` by human.preference.")
    ] = False,
    worst: Annotated[int, Option("Number of disagreements listed per metric and set.", min=0)] = 10,
    mapping: Columns = None,
    on_bad_row: OnBadRow = "stop",
    limit: Annotated[int | None, Option("Use only the first N records of each set.", min=1)] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    workers: Workers = 1,
    out: Annotated[
        str | Path | None,
        Option("Folder for all results, or a .json or .html file.", type=Path | None),
    ] = None,
    overwrite: Overwrite = False,
    progress: Progress | bool = do_nothing,
    command: Sequence[str] = (),
) -> "Validation":
    """How far metrics agree with human labels.

    `source` is what `score` takes, or the directory of a finished run with its records (then
    nothing is judged again), or several paths of both kinds; each is a set of its own. `label` is a
    key of `human` (default: "faithful", else the only one); several annotators stand as
    LABEL:ANNOTATOR. `labels` are files of `trueground annotate` instead, and `keep` are other
    labels with the value that a record must have. A record is positive where its label is above
    `positive_above`; with `ordinal` labels are grades. Without `metrics` all of the default set are
    taken whose fields are present. `verdict` tells which side of the `threshold` a score at it lies
    on (default: above; at-least with `with_published`, as papers' tables have it). `worst` is how
    many disagreements are shown. With `pairs` a record has a `response_b` too, and
    `human.preference` says which is better (above 0: `response`). `out` is a folder, a .json or a
    .html file. `workers` of None are as many processes as the number of records is worth.

    Raises UsageError for names and options, InputError and BadRowsError for files, labels that are
    absent or of one kind only, OutputError and WriteError for `out`, UnreachableError for a judge,
    CoverageError where no record could be scored, RunInterrupted on Ctrl-C.
    """
    from contextlib import ExitStack, closing
    from datetime import UTC, datetime

    from trueground.evaluate import Components, Plan
    from trueground.execution import open_progress
    from trueground.labels import LabelFiles, LabelRule
    from trueground.studies.labeled import LabeledSets
    from trueground.studies.validation import measures, notes
    from trueground.studies.validation.result import (
        Validation,
        ValidationOutput,
        make_manifest,
        undo_on_failure,
    )

    declared_options(validate).check(
        {
            "workers": workers,
            "seed": seed,
            "resamples": resamples,
            "worst": worst,
            "level": level,
            "threshold": threshold,
            "verdict": verdict,
            "limit": limit,
        }
    )
    if pairs:
        notes.check_pair_options(
            {"ordinal": ordinal, "labels": labels, "keep": keep, "with_published": with_published}
        )
    output = None if out is None else ValidationOutput(Path(out), overwrite)
    start = datetime.now(UTC).isoformat()
    with undo_on_failure(output, cache), ExitStack() as stack:
        report = stack.enter_context(open_progress(progress))
        notes.check_metric_names(metrics)  # a slip in a name should not cost a pass over the rows
        default = measures.PREFERENCE if pairs else LabelRule.DEFAULT
        sets = stack.enter_context(
            LabeledSets(
                source,
                label=default if pairs and label is None else label,
                rule={"positive_above": positive_above, "ordinal": ordinal, "graded": pairs},
                labels=LabelFiles(labels, label) if labels else None,
                default=default,
                use=measures.why_no_pair if pairs else lambda _record: None,
                keep=keep,
                mapping=mapping,
                on_bad_row=on_bad_row,
                limit=limit,
                progress=lambda rows: report("check", rows, None),
            )
        )
        from_runs = notes.RunMetrics(sets.sets, metrics)
        fresh = [set_ for set_ in sets.sets if set_.run is None]
        if not fresh:
            notes.check_judging(judge, decomposer, judge_calibration)
        parts = stack.enter_context(
            closing(
                Components.make(
                    judge or "lexical",
                    decomposer or "rules",
                    rater,
                    cache=cache,
                    calibration=judge_calibration,
                )
            )
        )
        fields = dict.fromkeys(name for set_ in fresh for name, n in set_.fields.items() if n)
        plan = Plan.make(list(fields), metrics, parts, keep_records=False) if fresh else None
        if plan is not None:
            plan.prepare()
        from_runs.check_signatures({} if plan is None else plan.signatures)
        settings = measures.MeasureSettings(
            sets.rule,
            threshold,
            resamples,
            seed,
            level,
            worst,
            verdict or ("at-least" if with_published else "above"),
            workers,
        )
        raw = measures.start_raw(settings, plan, from_runs)
        raw["notes"] += sets.notes
        raw["notes"] += [
            f"{key}: less is better, so it is turned round (1 − x) before it is measured"
            for key, higher in raw["higher_is_better"].items()
            if not higher
        ]
        items: Sequence[Any] = ()
        if pairs:
            measures.measure_pairs(raw, sets, plan, settings, report)
        else:
            named = metrics is not None
            items = measures.measure_sets(raw, sets, plan, from_runs, settings, named, report)
        if with_published:
            raw["published"] = notes.published_tables(raw)
        if note := parts.note if plan is None else plan.note:
            raw["notes"].append(note)
        result = Validation(raw)
        if output is not None:
            output.write(result, make_manifest(sets.sets, parts, command, start), items)
        return result
