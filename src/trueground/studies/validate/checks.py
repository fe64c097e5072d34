"""What is refused before any work: options, names of metrics, runs that do not fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueground.errors import InputError, UsageError, unknown_name
from trueground.metrics.base import Spec
from trueground.metrics.registry import parse_specs, split_specs
from trueground.options import check_whole_numbers
from trueground.plugins import split_key
from trueground.studies.finished import FinishedRun
from trueground.studies.labelled import LabelledSet

VERDICTS = ("above", "at-least")
MetricNames = str | Sequence[str | Spec] | None


def check_options(
    workers: int | None,
    seed: int,
    resamples: int,
    worst: int,
    level: float,
    threshold: float,
    verdict: str | None,
    *,
    not_for_pairs: Mapping[str, Any],
) -> None:
    """UsageError for a number out of its range, and for `not_for_pairs` that are set."""
    check_whole_numbers(
        workers=(workers, 1), seed=(seed, 0), resamples=(resamples, 1), worst=(worst, 0)
    )
    if not 0 < level < 1:
        raise UsageError(f"level={level!r}; it must be a number between 0 and 1")
    if not 0 <= threshold <= 1:
        raise UsageError(f"threshold={threshold!r}; scores from 0 to 1 are compared with it")
    if verdict is not None and verdict not in VERDICTS:
        raise unknown_name("verdict", verdict, VERDICTS)
    for name, option in not_for_pairs.items():
        if option:
            raise UsageError(
                f"{name.replace('_', '-')} is for labels of single responses; leave it out with "
                "pairs"
            )


def check_metric_names(metrics: MetricNames) -> None:
    """UsageError for a metric that does not exist; those of runs may stand for judges."""
    if metrics is None:
        return
    listed = [metrics] if isinstance(metrics, str) else metrics
    texts = [p for part in listed if isinstance(part, str) for p in split_specs(part)]
    parse_specs([split_key(text).spec for text in texts] or list(listed))


def check_judging(judge: object, decomposer: object, judge_calibration: object) -> None:
    """UsageError: judges are named, and everything is judged already."""
    options = {"judge": judge, "decomposer": decomposer, "judge-calibration": judge_calibration}
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                f"--{name} is for files of records; finished runs are judged already. Leave "
                "it out, or name the files that the runs were made of"
            )


class RunMetrics:
    """The metrics that are taken from the runs among the sets.

    `keys` names them by the number of the set; `signatures` are those of all of them, `judge` and
    `decomposer` those of the first that a run names.
    """

    def __init__(self, sets: Sequence[LabelledSet], metrics: MetricNames) -> None:
        """UsageError: a metric that a run does not have. InputError: see `check_signatures`."""
        self.keys: dict[int, list[str]] = {}
        self._first: dict[str, str] = {}
        self.signatures: dict[str, str] = {}
        self.judge: str | None = None
        self.decomposer: str | None = None
        for one in sets:
            if (run := one.run) is not None:
                keys = list(run.signatures) if metrics is None else _find_metrics(run, metrics)
                self.keys[one.number] = keys
                self.check_signatures({key: run.signatures[key] for key in keys}, one.name)
                self.judge = self.judge or _signature(run, "judge")
                self.decomposer = self.decomposer or _signature(run, "decomposer")

    def check_signatures(self, signatures: Mapping[str, str], where: str = "the files") -> None:
        """InputError where a metric has another signature than in an earlier set."""
        for key, signature in signatures.items():
            known = self.signatures.setdefault(key, signature)
            first = self._first.setdefault(key, where)
            if known != signature:
                raise InputError(
                    f"{key} is not the same metric in all sets: {known} in {first}, {signature} in "
                    f"{where}. Validate them apart, or name the files that the runs were made of"
                )


def _find_metrics(run: FinishedRun, metrics: str | Sequence[str | Spec]) -> list[str]:
    """The metrics of a run by these names; a bare name finds the one with options."""
    found: dict[str, None] = {}
    for part in [metrics] if isinstance(metrics, str) else metrics:
        for name in [part.key] if isinstance(part, Spec) else split_specs(part):
            near = run.metrics_named(name)
            if len(near) != 1:
                raise unknown_name(f"metric of the run {run.path}", name, run.signatures)
            found[near[0]] = None
    return list(found)


def _signature(run: FinishedRun, part: str) -> str | None:
    of_part = run.manifest.get(part)
    return of_part.get("signature") if isinstance(of_part, dict) else None
