"""Judges against human labels: one with its threshold and probabilities, or several weighed.

Truly-Ground chose its thresholds so that the judge's verdicts correlate most with people's
(appendix B.2); that is the objective `correlation`.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Literal

from trueground.options import (
    Cache,
    Level,
    OnBadRow,
    Option,
    Progress,
    Resamples,
    Seed,
    declared_options,
    do_nothing,
)
from trueground.records import Columns
from trueground.studies.options import Label, LabelPaths, PositiveAbove

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges import Judge
    from trueground.studies.calibration.result import Calibration
    from trueground.studies.calibration.stacking import FittedStack


_OBJECTIVES = Literal["balanced_accuracy", "f1", "accuracy", "matthews", "correlation", "kappa"]


def calibrate(
    source: Any,
    judge: "str | Judge",
    *,
    label: Label = None,
    labels: LabelPaths = (),
    positive_above: PositiveAbove = 0.5,
    decomposer: Annotated[
        "str | Decomposer | None",
        Option(
            ("Split answers into claims; the weakest claim counts. Default: judge whole answers."),
            type=str | None,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        Option(
            "Measure that the threshold maximizes. Default: balanced_accuracy.",
            type=_OBJECTIVES | None,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        Option("Use the lowest threshold with this precision, instead of --objective."),
    ] = None,
    method: Annotated[
        str, Option("Method that fits the probabilities.", type=Literal["platt", "isotonic"])
    ] = "platt",
    mapping: Columns = None,
    on_bad_row: OnBadRow = "stop",
    limit: Annotated[
        int | None, Option("Use only the first N records of each file.", min=1)
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    cache: Cache = True,
    progress: Progress | bool = do_nothing,
) -> "Calibration":
    """Judge labeled answers; choose the threshold, and fit probabilities, that suit the labels.

    `source` is what `score` takes; of several files each is also reported by itself. The judge is
    asked once per record whether its contexts support the whole response; with a `decomposer` once
    per claim, and the weakest claim counts. `label` is a key of `human` (default: "faithful", else
    the only one), and a record is positive where it is greater than `positive_above`; several
    annotators stand as LABEL:ANNOTATOR, and their majority decides. `labels` are files of
    `trueground annotate` instead. `limit` takes the first records of each file.

    The threshold is chosen for an `objective` (default: balanced accuracy), or is the lowest that
    reaches a wanted `precision`; `method` is "platt" or "isotonic". A judge whose verdicts have no
    score has no threshold to choose: its True and False get probabilities.

    UsageError: a name that is not known, an objective or precision for a judge without scores.
    InputError: a file or label that cannot be used, labels of one kind only, scores that are all
    equal, a precision out of reach, too few records for a method. UnreachableError: the judge.
    RunInterrupted on Ctrl-C.
    """
    from trueground.claims import get_decomposer
    from trueground.execution import open_progress
    from trueground.labels import LabelFiles
    from trueground.studies.calibration.judging import (
        judge_records,
        make_uncalibrated,
        no_scores,
        why_unfit,
    )
    from trueground.studies.calibration.statistics import CalibrationSettings, compute_calibration
    from trueground.studies.labeled import LabeledSets

    settings = CalibrationSettings(objective, precision, method, seed, resamples, level)
    bare = make_uncalibrated(judge, cache)
    files = LabelFiles(labels, label, claims=True) if labels else None
    if settings.chooses and not bare.scores:
        raise no_scores(bare)
    splitter = None if decomposer is None else get_decomposer(decomposer, cache=cache)
    with (
        open_progress(progress) as report,
        _interruptible(bare.spent is not None, cache),
        _closing(bare, judge),
        _closing(splitter, decomposer),
        LabeledSets(
            source,
            label=label,
            rule={"positive_above": positive_above},
            labels=files,
            use=why_unfit,
            mapping=mapping,
            on_bad_row=on_bad_row,
            limit=limit,
            progress=lambda rows: report("check", rows, None),
        ) as sets,
    ):
        judged = judge_records(sets, bare, splitter, settings.chooses, report)
        return compute_calibration(judged, settings, judge if isinstance(judge, str) else None)


def fit_judge(
    source: Any,
    judges: Annotated[
        str | Sequence[str],
        Option("Judges to combine, comma-separated: NAME or NAME:MODEL.", type=str),
    ],
    *,
    label: Label = None,
    labels: LabelPaths = (),
    positive_above: PositiveAbove = 0.5,
    decomposer: Annotated[
        "str | Decomposer",
        Option("How answers are split into claims, as in `score`.", type=str),
    ] = "rules",
    mapping: Columns = None,
    on_bad_row: OnBadRow = "stop",
    limit: Annotated[
        int | None, Option("Use only the first N records of each file.", min=1)
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    cache: Cache = True,
    progress: Progress | bool = do_nothing,
) -> "FittedStack":
    """Weigh several judges by labeled answers, so that together they tell more than the best.

    `source`, `label`, `labels`, `positive_above` and `limit` are as in `calibrate`. Answers are
    split by the `decomposer`, each of `judges` is asked about every claim, and a logistic model
    without negative weights is fitted, in which the probability of an answer is the mean over its
    claims. How it does is measured on records left out of the fit, groups kept whole, against each
    judge alone. `refused` says why the result cannot be written: the labels do not show that the
    stack is better than the best judge.

    UsageError: a name that is not known, a judge twice, a stack among them. InputError: a file,
    label or model that cannot be used, too few labels of a kind. UnreachableError: a judge.
    RunInterrupted on Ctrl-C.
    """
    from trueground.claims import get_decomposer
    from trueground.components import ComponentSpec
    from trueground.errors import UsageError
    from trueground.execution import open_progress
    from trueground.labels import LabelFiles
    from trueground.studies.calibration.judging import why_unfit
    from trueground.studies.calibration.stacking import compute_stack, measure_claims, open_judges
    from trueground.studies.labeled import LabeledSets

    draws = {"resamples": resamples, "seed": seed, "level": level}
    declared_options(fit_judge).check(draws)
    names = ComponentSpec.split(judges) if isinstance(judges, str) else list(judges)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the judge {twice!r} is named twice; name each judge once")
    files = LabelFiles(labels, label, claims=True) if labels else None
    splitter = get_decomposer(decomposer, cache=cache)
    with ExitStack() as stack:
        report = stack.enter_context(open_progress(progress))
        opened = open_judges(names, cache, stack)
        asks = any(judge.alone.spent is not None for judge in opened)
        stack.enter_context(_interruptible(asks, cache))
        stack.enter_context(_closing(splitter, decomposer))
        sets = LabeledSets(
            source,
            label=label,
            rule={"positive_above": positive_above},
            labels=files,
            use=why_unfit,
            mapping=mapping,
            on_bad_row=on_bad_row,
            limit=limit,
            progress=lambda rows: report("check", rows, None),
        )
        stack.enter_context(sets)
        measured = measure_claims(sets, opened, splitter, report)
        return compute_stack(measured, splitter, seed=seed, resamples=resamples, level=level)


@contextmanager
def _interruptible(asks: bool, cache: bool) -> Iterator[None]:
    """Ctrl-C is told in words: what is lost, and what is not."""
    try:
        yield
    except KeyboardInterrupt:
        from trueground.errors import RunInterrupted

        kept = ""
        if asks:
            kept = "; replies already paid for are kept in the cache"
            if not cache:
                kept = "; without the cache, replies are not kept"
        raise RunInterrupted(f"interrupted; nothing was written{kept}") from None


def _closing(part: Any, passed: object) -> Any:
    """Close what was created here; what the caller passed is the caller's to close."""
    return nullcontext() if part is None or not isinstance(passed, str) else closing(part)
