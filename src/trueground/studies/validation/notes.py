"""What is refused before any work, and what stands beside the numbers: notes, papers' tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueground.benchmarks import PublishedTable, all_benchmarks
from trueground.components import ResultKey
from trueground.errors import InputError, UsageError
from trueground.labels import LabelRule
from trueground.metrics import METRICS, Spec
from trueground.studies.finished import FinishedRun
from trueground.studies.labeled import LabeledSet

VERDICTS = ("above", "at-least")
MetricNames = str | Sequence[str | Spec] | None
PaperRow = dict[str, Any]
_RATES = {"false_negatives": "false_negative_rate", "false_positives": "false_positive_rate"}


def check_pair_options(options: Mapping[str, Any]) -> None:
    """Check that none of these options is set, which are not for pairs. Raises UsageError."""
    for name, value in options.items():
        if value:
            raise UsageError(
                f"{name.replace('_', '-')} is for labels of single responses; leave it out with "
                "pairs"
            )


def check_metric_names(metrics: MetricNames) -> None:
    """UsageError for a metric that does not exist; those of runs may stand for judges."""
    if metrics is None:
        return
    listed = [metrics] if isinstance(metrics, str) else metrics
    texts = [p for part in listed if isinstance(part, str) for p in METRICS.split(part)]
    METRICS.parse_all([ResultKey.parse(text).spec for text in texts] or list(listed))


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
    """The metrics of the runs among the sets: `keys` by the number of the set, all `signatures`.

    `judge` and `decomposer` are those of the first that a run names.
    """

    def __init__(self, sets: Sequence[LabeledSet], metrics: MetricNames) -> None:
        """UsageError: a metric that a run does not have. InputError: see `check_signatures`."""
        self.keys: dict[int, list[str]] = {}
        self._first: dict[str, str] = {}
        self.signatures: dict[str, str] = {}
        self.judge: str | None = None
        self.decomposer: str | None = None
        for set_ in sets:
            if (run := set_.run) is not None:
                keys = list(run.signatures) if metrics is None else _find_metrics(run, metrics)
                self.keys[set_.number] = keys
                self.check_signatures({key: run.signatures[key] for key in keys}, set_.name)
                self.judge = self.judge or _signature(run, "judge")
                self.decomposer = self.decomposer or _signature(run, "decomposer")

    def check_signatures(self, signatures: Mapping[str, str], where: str = "the files") -> None:
        """InputError where a metric has another signature than in an earlier set."""
        for key, signature in signatures.items():
            first_signature = self.signatures.setdefault(key, signature)
            first = self._first.setdefault(key, where)
            if first_signature != signature:
                raise InputError(
                    f"{key} is not the same metric in all sets: {first_signature} in {first}, "
                    f"{signature} in {where}. Validate them separately, or name the files that "
                    "the runs were made of"
                )


def _find_metrics(run: FinishedRun, metrics: str | Sequence[str | Spec]) -> list[str]:
    """The metrics of a run by these names; a bare name finds the one with options."""
    keys: dict[str, None] = {}
    for part in [metrics] if isinstance(metrics, str) else metrics:
        for name in [part.key] if isinstance(part, Spec) else METRICS.split(part):
            near = run.metrics_named(name)
            if len(near) != 1:
                raise UsageError.unknown_name(f"metric of the run {run.path}", name, run.signatures)
            keys[near[0]] = None
    return list(keys)


def _signature(run: FinishedRun, part: str) -> str | None:
    component = {"judge": run.manifest.judge, "decomposer": run.manifest.decomposer}[part]
    return component.signature if component else None


def format_unscored(
    unscored: Mapping[str, Sequence[tuple[str, str]]], sets: int, named: bool
) -> list[str]:
    """One note for all metrics without any score of which the same is to be said.

    `unscored` has for each metric the sets in which it has none, and why. Of metrics that were
    `named` every such set is told, of the default ones only those that no set scores.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for key, without in unscored.items():
        if named or len(without) == sets:
            names = ", ".join(name for name, _ in without)
            where = f" of any of {sets} sets" if len(without) == sets > 3 else f" of {names}"
            reasons = ", ".join(dict.fromkeys(reason for _, reason in without))
            lines.setdefault((where, reasons), []).append(key)
    return [
        f"no score on any item{where} ({reasons}): {', '.join(keys)}{_next_step(reasons, keys)}"
        for (where, reasons), keys in lines.items()
    ]


def _next_step(reasons: str, keys: Sequence[str]) -> str:
    """What to do where fields are missing; nothing where it is something else."""
    if "missing_field" not in reasons:
        return ""
    fields: dict[str, None] = {}
    for key in keys:
        try:
            fields |= dict.fromkeys(METRICS.parse(ResultKey.parse(key).spec).needs)
        except UsageError:  # a metric of a run that is not known here
            continue
    which = f" (needed: {', '.join(fields)})" if fields else ""
    return f"; fill in the missing fields{which}, name their columns with --map, or leave it out"


def one_kind(set_: LabeledSet, rule: LabelRule) -> list[str]:
    """The note on a set whose labels are all positive, or all negative; none for any other."""
    if set_.positives not in (0, set_.n):
        return []
    if not rule.ordinal:
        kind = "positive" if set_.positives else "negative"
        return [
            f"{set_.name}: all {set_.n:,} labels are {kind}, so most measures are undefined there"
        ]
    side = "above" if set_.positives else "not above"
    return [
        f"{set_.name}: labels run from {set_.labels.min():g} to {set_.labels.max():g}, and all "
        f"{set_.n:,} are {side} --positive-above {rule.positive_above:g}, so what needs positives "
        "and negatives is undefined there; choose another limit with --positive-above"
    ]


def shared_groups(sets: Sequence[LabeledSet]) -> list[str]:
    """The note on sets that have groups of the same name; none where no two have any."""
    grouped = [set_ for set_ in sets if set_.grouped]
    if len(grouped) < 2:
        return []
    of_sets = [np.unique(set_.clusters) for set_ in grouped]
    groups, counts = np.unique(np.concatenate(of_sets), return_counts=True)
    several = groups[counts > 1]
    if not len(several):
        return []
    names = [set_.name for set_ in grouped if np.isin(several, set_.clusters).any()]
    return [
        f"{len(several):,} groups are in more than one set ({', '.join(names)}). Means over sets "
        "take the sets as independent, so their intervals may be too narrow"
    ]


def published_tables(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables that papers print of the label of a validation, row by row.

    A row is a metric as the paper names it, with the paper's numbers by measure, and under `here`
    those of the validation's metric `key`: means over sets, by label of a single set alone.
    InputError: no paper prints anything of this label.
    """
    printed = [(b.name, table) for b in all_benchmarks().values() for table in b.published]
    tables = [
        {
            "benchmark": name,
            "id": published.id,
            "place": published.place,
            "source": published.source,
            "rows": rows,
        }
        for name, published in printed
        if (rows := list(_paper_rows(published, raw)))
    ]
    if not tables:
        labels = {table.of_label for _, table in printed} - {""}
        raise InputError(
            f"no paper prints agreement with the label {raw['label']!r}; expected one of "
            f"{', '.join(sorted(labels))}. Leave --with-published out"
        )
    return tables


def _paper_rows(table: PublishedTable, raw: Mapping[str, Any]) -> Iterator[PaperRow]:
    """A rate of errors stands beside ours; a score or any other number by itself."""

    def row(
        metric: str | None, name: str, judge: str | None, label: int | None, **paper: float
    ) -> PaperRow:
        key = None  # plain, or the first with options or another judge
        if metric is not None:
            key = next(iter(ResultKey.find(metric, raw["mean"])), None)
        values = _measured(raw, key, label)
        measured = {measure: values.get(measure) for measure in paper}
        return {"metric": key, "name": name, "judge": judge, "paper": paper, "here": measured}

    for number in table.numbers:
        if raw["label"] in (number.of_label, table.of_label):
            *_, kind, metric = ("", *number.name.split("."))
            if kind in _RATES:
                yield row(metric, metric, None, None, **{_RATES[kind]: number.value})
            else:
                yield row(None, number.name, None, None, value=number.value)
    if table.of_label != raw["label"]:
        return
    for score in table.scores:
        name = f"{score.metric} of {score.printed or score.model}"
        yield row(None, name, None, None, value=score.value)
    for correlation in table.correlations:
        paper = {"spearman": correlation.spearman, "kendall": correlation.kendall}
        yield row(
            correlation.metric,
            correlation.printed or correlation.metric,
            correlation.judge,
            None,
            **paper,
        )
    for distribution in table.distributions:
        name = f"{distribution.printed or distribution.metric}, label {distribution.label}"
        paper = {"mean": distribution.mean, "median": distribution.median, "sd": distribution.sd}
        yield row(distribution.metric, name, distribution.judge, distribution.label, **paper)


def _measured(raw: Mapping[str, Any], key: str | None, label: int | None) -> dict[str, Any]:
    """The means of a metric, or its distribution over the records of a label, in the only set."""
    if key is None or (label is not None and len(raw["sets"]) != 1):
        return {}
    if label is None:
        return {name: entry["value"] for name, entry in raw["mean"][key].items()}
    by_label = raw["sets"][0]["metrics"][key]["by_label"]
    of_label: dict[str, Any] = next((entry for entry in by_label if entry["label"] == label), {})
    return {name: of_label[name]["value"] for name in ("mean", "median", "sd") if of_label}
