"""Compare finished runs over the same items: each later run with the first, item by item."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.options import LabelsDrawn, Level, Option, RateLabels, Resamples, Seed

if TYPE_CHECKING:
    from trueground.studies.comparison import ComparedRun, RunComparison
    from trueground.studies.finished import FinishedRun

_LONGEST_NAME = 24  # of a run, in letters


def _split(texts: Sequence[str]) -> list[str]:
    from trueground.metrics.registry import split_specs

    return [name for text in texts for name in split_specs(text)]


def compare(
    paths: Sequence[str | Path],
    *,
    metrics: Annotated[
        str | Sequence[str] | None,
        Option(
            "Names, comma-separated. Default: all that both runs have. Repeatable.",
            type=list[str] | None,
            parse=_split,
        ),
    ] = None,
    seed: Seed = 0,
    resamples: Resamples = 2_000,
    level: Level = 0.95,
    allow_mismatch: Annotated[
        bool,
        Option("Compare the common items although items, questions, signatures or tasks differ."),
    ] = False,
    flips: Annotated[
        int, Option("Changed items to name, per metric, won and lost each.", min=0)
    ] = 20,
    power: Annotated[
        float, Option("Probability with which a difference shall be found, 0.5 to 1.")
    ] = 0.8,
    detect: Annotated[
        Sequence[float],
        Option(
            "How many items does this difference need? 0.02 (the default) is 2 points. Repeatable.",
            type=list[float] | None,
        ),
    ] = (0.02,),
    labels: RateLabels = (),
    labels_drawn: LabelsDrawn = None,
) -> "RunComparison":
    """Compare run directories: every later one with the first, item by item.

    `metrics` are names or one comma-separated text; without them, all that both runs have. `flips`
    is the most changed items to name per metric and direction. For the differences `detect`, and
    the one found, it is told how many items a test at 1 − `level` needs to find them with
    probability `power`. `labels` are files with people's labels of the runs' answers: one for each
    run, or each line tells of which run it is; `corrected` of a pair has the differences that
    people would see. Raises UsageError for options, for
    the same run twice and, unless `allow_mismatch`, where items, questions, signatures or tasks
    differ; InputError for a run that is not finished or cannot be read.
    """
    from dataclasses import replace
    from itertools import chain

    import numpy as np

    from trueground.studies.compare_pair import CompareOptions, adjust, compare_pair
    from trueground.studies.comparison import RunComparison
    from trueground.studies.finished import open_run, read_scores, with_questions
    from trueground.studies.pairing import Side, align, common_metrics
    from trueground.studies.run_level import columns_for

    detect = tuple(dict.fromkeys(detect))
    options = CompareOptions(resamples, seed, level, allow_mismatch, flips, power, detect)
    runs = with_questions([open_run(Path(path)) for path in paths])
    _check_different(runs)
    called = _name_runs([run.path for run in runs])
    first, others = runs[0], runs[1:]
    wanted = _split([metrics]) if isinstance(metrics, str) else metrics
    names = [common_metrics(first, run, wanted) for run in others]
    needed = [
        columns_for(chosen, [key for key in first.signatures if key in run.signatures])
        for chosen, run in zip(names, others, strict=True)
    ]
    options = replace(options, tests=sum(map(len, names)))
    every = tuple(dict.fromkeys(chain.from_iterable(needed)))
    of_people = None
    if labels:
        from trueground.studies.compare_labels import RunLabels

        of_people = RunLabels(labels, labels_drawn, runs, called)
    first_scores = read_scores(first, every)
    compared, pairs = [_compared_run(called[0], first, len(first_scores.ids))], []
    for label, run, chosen, columns in zip(called[1:], others, names, needed, strict=True):
        scores = read_scores(run, columns)
        mine = first_scores.of([every.index(metric) for metric in columns])
        a = Side(called[0], first, np.arange(len(mine.ids)), mine)
        b = Side(label, run, np.arange(len(scores.ids)), scores)
        aligned = align(a, b, columns)
        pair = compare_pair(aligned, columns, chosen, options)
        pairs.append(of_people.add_to(pair, aligned, columns, level) if of_people else pair)
        compared.append(_compared_run(label, run, len(scores.ids)))
    adjusted = adjust(pairs, options.alpha)
    return RunComparison(tuple(compared), adjusted, level, resamples, seed, options.alpha, power)


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """The folders' names, with as much of their paths as tells them apart; letters for long ones.

    The time in front of a name that trueground gave is left out where the rest does that.
    """
    import re

    parts = [path.resolve().parts for path in paths]
    untimed = [re.sub(r"^\d{8}T\d{6}Z-", "", own[-1]) for own in parts]
    tails = (["/".join(own[-k:]) for own in parts] for k in range(1, max(map(len, parts)) + 1))
    for names in (untimed, *tails):
        if len(set(names)) == len(names):
            if all(name.isprintable() and 0 < len(name) <= _LONGEST_NAME for name in names):
                return names
            break
    return [chr(ord("A") + i) if i < 26 else f"R{i + 1}" for i in range(len(paths))]


def _compared_run(label: str, run: "FinishedRun", n: int) -> "ComparedRun":
    from trueground.studies.comparison import ComparedRun

    return ComparedRun(label, str(run.path), n, run.task, run.model, run.notices)


def _check_different(runs: Sequence["FinishedRun"]) -> None:
    from trueground.errors import UsageError

    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run was given; name two or more run directories")
    seen: set[Path] = set()
    for run in runs:
        whole = run.path.resolve()
        if whole in seen:
            raise UsageError(f"{run.path} is given twice; name different run directories")
        seen.add(whole)
