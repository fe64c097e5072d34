"""Compare finished runs over the same items: each later run with the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain
from math import inf
from pathlib import Path

from trueground.errors import UsageError
from trueground.metrics.registry import split_specs
from trueground.studies.adjusting import adjusted
from trueground.studies.comparison import ComparedRun, Comparison
from trueground.studies.finished import FinishedRun, open_run, with_questions
from trueground.studies.pair import Pair
from trueground.studies.pair_sizes import Settings
from trueground.studies.pairing import common_metrics
from trueground.studies.run_level import columns_for
from trueground.studies.scores import Scores, read_scores


def compare(
    paths: Sequence[str | Path],
    *,
    metrics: str | Sequence[str] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    allow_mismatch: bool = False,
    flips: int = 20,
    power: float = 0.8,
    detect: Sequence[float] = (0.02,),
) -> Comparison:
    """Compare run directories: every later one with the first, item by item.

    `metrics` are names or one comma-separated text; without them, all that both runs have. `flips`
    is the most changed items to name per metric and direction. For the differences `detect`, and
    the one found, it is told how many items a test at 1 − `level` needs to find them with
    probability `power`. Raises UsageError for options, for
    the same run twice and, unless `allow_mismatch`, where items, questions, signatures or tasks
    differ; InputError for a run that is not finished or cannot be read.
    """
    settings = Settings(
        resamples, seed, level, flips, allow_mismatch, power, tuple(dict.fromkeys(detect))
    )
    _check(settings)
    runs = with_questions([open_run(Path(path)) for path in paths])
    _check_different(runs)
    wanted = split_specs(metrics) if isinstance(metrics, str) else metrics
    names = [common_metrics(runs[0], other, wanted) for other in runs[1:]]
    needed = [
        columns_for(chosen, [key for key in runs[0].signatures if key in other.signatures])
        for chosen, other in zip(names, runs[1:], strict=True)
    ]
    settings = dataclasses.replace(settings, tests=sum(map(len, names)))
    every = tuple(dict.fromkeys(chain.from_iterable(needed)))
    first = read_scores(runs[0], every)
    labels = [_label(i) for i in range(len(runs))]
    compared = [_compared(labels[0], runs[0], first)]
    pairs = []
    for label, run, chosen, columns in zip(labels[1:], runs[1:], names, needed, strict=True):
        scores = read_scores(run, columns)
        mine = first.of([every.index(metric) for metric in columns])
        pair = Pair(runs[0], mine, run, scores, columns, chosen, settings)
        pairs.append(pair.compare(labels[0], label))
        compared.append(_compared(label, run, scores))
    return Comparison(
        tuple(compared),
        adjusted(pairs, settings.alpha),
        level,
        resamples,
        seed,
        settings.alpha,
        settings.power,
    )


def _compared(label: str, run: FinishedRun, scores: Scores) -> ComparedRun:
    n = len(scores.ids)
    return ComparedRun(label, str(run.path), n, run.task, run.model, run.notices)


def _label(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"R{i + 1}"


def _check(settings: Settings) -> None:
    for name, least in (("resamples", 1), ("seed", 0), ("flips", 0)):
        value = getattr(settings, name)
        if value < least:
            raise UsageError(f"{name}={value}; it must be a whole number, {least} or more")
    if not 0 < settings.level < 1:
        raise UsageError(f"level={settings.level}; it must lie between 0 and 1, such as 0.95")
    if not 0.5 <= settings.power < 1:
        raise UsageError(f"power={settings.power}; it must be 0.5 or more and below 1, such as 0.8")
    for difference in settings.detect:
        if not 0 < difference < inf:
            raise UsageError(
                f"detect={difference}; it is a difference of means above 0: 0.02 for 2 points of "
                "100"
            )


def _check_different(runs: Sequence[FinishedRun]) -> None:
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run was given; name two or more run directories")
    seen: set[Path] = set()
    for run in runs:
        whole = run.path.resolve()
        if whole in seen:
            raise UsageError(f"{run.path} is given twice; name different run directories")
        seen.add(whole)
