"""Scores against labels: each set, all sets together, the best metric and the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.errors import CoverageError, InputError
from trueground.evaluate import Plan, score_batches
from trueground.labels import LabelRule
from trueground.metrics import METRICS
from trueground.options import Progress
from trueground.stats import Ceiling, Measured, OverSets, mean, preferences, sum_counts
from trueground.studies.labeled import LabeledSet, LabeledSets
from trueground.studies.validation.notes import RunMetrics, format_unscored, one_kind, shared_groups
from trueground.studies.validation.result import FORMAT
from trueground.studies.validation.scored import ScoredSet, score_sets, worst_items
from trueground.types import Record

Floats = NDArray[np.float64]
# Scores turned so that more is better, and what is measured of them.
TurnedSet = tuple[LabeledSet, dict[str, Floats], dict[str, Measured]]
Differences = dict[str, dict[str, dict[str, Any]]]  # measure → metric → difference
_CALIBRATION = "calibration_error"
PREFERENCE = "preference"
OTHER = "response_b"
NO_OTHER = "no_response_b"


@dataclass(frozen=True)
class MeasureSettings:
    """How everything is measured.

    `verdict` tells on which side of the threshold a score at it lies. `workers` are threads for the
    resamples; None: as many as there are cores.
    """

    rule: LabelRule
    threshold: float = 0.5
    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95
    worst: int = 10
    verdict: Literal["above", "at-least"] = "above"
    workers: int | None = None

    @property
    def positive_above(self) -> float:
        """The limit for labels as the statistics get them: these are 1 or 0, or ordinal."""
        return self.rule.positive_above if self.rule.ordinal else 0.5

    @property
    def draws(self) -> dict[str, Any]:
        """The keywords of every function that draws resamples."""
        return {
            "resamples": self.resamples,
            "seed": self.seed,
            "level": self.level,
            "workers": self.workers,
        }

    def measure(
        self, scores: Mapping[str, Floats], labels: Floats, clusters: Any
    ) -> dict[str, Measured]:
        """Every measure of these scores, each (n,), turned so that more is better."""
        shares = {key: is_share(values) for key, values in scores.items()}
        return Measured.measure_all(
            scores,
            labels,
            positive_above=self.positive_above,
            ordinal=self.rule.ordinal,
            clusters=clusters,
            threshold={key: self.threshold if share else None for key, share in shares.items()},
            probability=shares,
            at_least=self.verdict == "at-least",
            **self.draws,
        )


def turn(key: str, scores: Floats) -> Floats:
    """The scores so that more is better: 1 − x of shares, −x of others, where less is better."""
    if METRICS.higher_is_better(key) is not False:
        return scores
    return 1.0 - scores if is_share(scores) else -scores


def is_share(scores: Floats) -> bool:
    """Whether all scores (some not NaN) lie between 0 and 1: a threshold means a thing there."""
    return bool(np.nanmin(scores) >= 0.0 and np.nanmax(scores) <= 1.0)


def start_raw(
    settings: MeasureSettings, plan: Plan | None, from_runs: RunMetrics
) -> dict[str, Any]:
    """`Validation.raw` without its numbers, which are still empty: who measured what, and how."""
    signatures = dict(from_runs.signatures)
    judge, decomposer = from_runs.judge, from_runs.decomposer
    if plan is not None:
        signatures |= plan.signatures
        judge = plan.judge_signatures[0] if plan.judge_signatures else judge
        decomposer = plan.decomposer_signature or decomposer
    return {
        "format": FORMAT,
        "trueground": __version__,
        "label": settings.rule.label,
        "positive_above": settings.rule.positive_above,
        "ordinal": settings.rule.ordinal,
        "threshold": settings.threshold,
        "verdict": settings.verdict,
        "judge": judge,
        "decomposer": decomposer,
        "ci_level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "higher_is_better": {key: METRICS.higher_is_better(key) is not False for key in signatures},
        "signatures": signatures,
        "sets": [],
        "mean": {},
        "pooled": {},
        "differences": {},
        "preferences": None,
        "published": [],
        "notes": [],
    }


def measure_sets(
    raw: dict[str, Any],
    sets: LabeledSets,
    plan: Plan | None,
    from_runs: RunMetrics,
    settings: MeasureSettings,
    named: bool,
    progress: Progress,
) -> list[tuple[str, Iterator[dict[str, Any]]]]:
    """Fill in sets, means, pooled numbers and notes; `named`: the user named the metrics.

    Returns for each set its name and a line for each of its labeled records, made when they are
    read. CoverageError where nothing has a score.
    """
    lines = []
    entries: dict[int, dict[str, Any]] = {}
    turned: list[TurnedSet] = []
    means: dict[str, OverSets] = {}
    unscored: dict[str, list[tuple[str, str]]] = {}
    for set_ in score_sets(sets, plan, from_runs.keys, settings.workers, progress):
        of = set_.set
        for key in set_.scores:
            reasons = set_.unscored(key)
            if sum(reasons.values()) == of.n:
                unscored.setdefault(key, []).append((of.name, ", ".join(reasons)))
        raw["notes"] += one_kind(of, settings.rule)
        progress("measure", of.number - 1, len(sets.sets))
        scores = {k: turn(k, v) for k, v in set_.scores.items() if not np.isnan(v).all()}
        measured = settings.measure(scores, of.labels, of.grouping)
        for key, measures in measured.items():
            means.setdefault(key, OverSets()).add(measures)
        # Of the draws only those are retained of which differences are made.
        paired = {
            key: replace(m, draws={name: m.draws[name] for name in Measured.PAIRED})
            for key, m in measured.items()
        }
        turned.append((of, scores, paired))
        metrics = {key: _metric_entry(set_, key, m) for key, m in measured.items()}
        rows = {key: _worst_rows(of, scores[key], m, settings) for key, m in measured.items()}
        for key, items in worst_items(sets, set_, rows).items():
            metrics[key]["worst"] = items
        lines.append((of.name, _item_lines(sets, of, set_.scores)))
        progress("measure", of.number, len(sets.sets))
        entries[of.number] = {
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
            "ceiling": _ceiling(of, settings),
        }
    raw["sets"] = [entries[number] for number in sorted(entries)]
    notes = format_unscored(unscored, len(entries), named)
    if not any(entry["metrics"] for entry in raw["sets"]):
        raise CoverageError("; ".join(notes))
    raw["mean"] = {key: over.raw_means(settings.level) for key, over in means.items()}
    raw["pooled"] = _pooled(turned, settings)
    each, raw["differences"] = _differences(turned, raw["mean"], settings)
    for number, entry in entries.items():
        entry["differences"] = each[number]
    raw["notes"] += [*shared_groups(sets.sets), *notes]
    return lines


def _ceiling(set_: LabeledSet, settings: MeasureSettings) -> dict[str, Any] | None:
    """One annotator against the rest: each by name, and their mean; None for fewer than two.

    Records on which all are tied have no label, but count here: only a tie of the rest leaves one
    out, else two annotators would always agree. Of pairs the rest's preference is their mean.
    """
    names, rule = set_.votes.annotators, settings.rule
    if len(names) < 2:
        return None
    table, clusters = set_.votes.table()
    if rule.graded:
        groups = clusters if set_.grouped else None
        raw = Ceiling.of_preferences(table, clusters=groups, **settings.draws).raw()
    else:
        limit: dict[str, Any] = {"positive_above": rule.positive_above, "ordinal": rule.ordinal}
        raw = Ceiling.of_labels(table, clusters=clusters, **limit, **settings.draws).raw()
    each = zip(names, raw["annotators"], strict=True)
    return {**raw, "annotators": [{"annotator": name, **measures} for name, measures in each]}


def _metric_entry(set_: ScoredSet, key: str, measured: Measured) -> dict[str, Any]:
    raw = measured.raw()
    by_grade = raw.pop("by_grade")
    entry = {
        "n": raw.pop("n"),
        "coverage": measured.n / set_.set.n,
        "unscored": set_.unscored(key),
        "mean": mean(set_.scores[key][~np.isnan(set_.scores[key])]),
        **raw,
    }
    return {**entry, "by_grade": by_grade} if by_grade else entry


def _item_lines(
    sets: LabeledSets, of: LabeledSet, scores: Mapping[str, Floats]
) -> Iterator[dict[str, Any]]:
    for row, (record, label) in enumerate(chain.from_iterable(sets.batches(of))):
        scores_of_record = {
            key: float(values[row]) for key, values in scores.items()
        }  # NaN becomes null
        line: dict[str, Any] = {"id": record.id, "label": label.shown, "scores": scores_of_record}
        yield line | ({"votes": dict(label.votes)} if label.votes else {})


def _worst_rows(
    set_: LabeledSet, scores: Floats, measured: Measured, settings: MeasureSettings
) -> NDArray[np.int64]:
    """Rows whose verdict (score > threshold, or ≥) is not the label, the farthest from it first.

    By the default threshold, or the best one where there is none or no verdict can be told.
    """
    threshold, at_least = measured.threshold, settings.verdict == "at-least"
    if measured.confusion is None or threshold is None:
        threshold, at_least = measured.best_threshold, False
    if threshold is None:
        return np.empty(0, np.int64)
    verdicts = scores >= threshold if at_least else scores > threshold
    positive = set_.labels > settings.positive_above
    wrong = np.flatnonzero(~np.isnan(scores) & (verdicts != positive))
    distance = np.abs(scores[wrong] - threshold)
    return wrong[np.argsort(-distance, kind="stable")][: settings.worst]


def _pooled(sets: list[TurnedSet], settings: MeasureSettings) -> dict[str, Any]:
    """The calibration error over the records of all sets in which a metric is a share."""
    columns: dict[str, list[Floats]] = {}
    for number, (_, turned, _) in enumerate(sets):
        for key, scores in turned.items():
            if is_share(scores):
                empty = [np.full(other.n, np.nan) for other, *_ in sets]
                columns.setdefault(key, empty)[number] = scores
    if len(sets) == 1:
        measured = {key: set_ for key, set_ in sets[0][2].items() if key in columns}
    else:
        clusters = np.concatenate([set_.clusters for set_, *_ in sets])
        measured = Measured.measure_all(
            {key: np.concatenate(parts) for key, parts in columns.items()},
            np.concatenate([set_.labels for set_, *_ in sets]),
            positive_above=settings.positive_above,
            clusters=clusters if any(set_.grouped for set_, *_ in sets) else None,
            threshold=None,
            **settings.draws,
        )
    return {
        key: {_CALIBRATION: set_.estimates[_CALIBRATION].raw(), "by_chance": set_.raw_chance()}
        for key, set_ in measured.items()
    }


def _differences(
    sets: list[TurnedSet], mean: dict[str, Any], settings: MeasureSettings
) -> tuple[dict[int, Differences], Differences]:
    """Each metric less the one with the highest mean, by number of set and over all sets.

    Only those with the most sets can be the highest: a mean over fewer is another number.
    """
    best = {name: key for name in Measured.PAIRED if (key := _best_metric(mean, name)) is not None}
    each: dict[int, Differences] = {}
    means: dict[tuple[str, str], OverSets] = {}
    for set_, scores, measured in sets:
        differences = Measured.differences(
            measured,
            scores,
            set_.labels,
            {name: key for name, key in best.items() if key in scores},
            positive_above=settings.positive_above,
            ordinal=settings.rule.ordinal,
            clusters=set_.grouping,
            **settings.draws,
        )
        each[set_.number] = {
            name: {
                key: {"against": best[name], **difference.estimates[name].raw()}
                for key, difference in of_measure.items()
            }
            for name, of_measure in differences.items()
        }
        for name, of_measure in differences.items():
            for key, difference in of_measure.items():
                means.setdefault((name, key), OverSets((name,))).add(difference)
    over: Differences = {name: {} for name in best}
    for (name, key), of_sets in means.items():
        over[name][key] = {"against": best[name], **of_sets.raw_means(settings.level)[name]}
    return each, over


def _best_metric(mean: dict[str, Any], name: str) -> str | None:
    """The metric with the highest mean over the most sets; None where none has the measure."""
    have = {key: of[name] for key, of in mean.items() if of[name]["value"] is not None}
    if not have:
        return None
    return max(have, key=lambda key: (have[key]["sets"], have[key]["value"]))


# Pairs


def why_no_pair(record: Record) -> str | None:
    """Why a record is no pair, if it is none."""
    return None if isinstance((record.meta or {}).get(OTHER), str) else NO_OTHER


def measure_pairs(
    raw: dict[str, Any],
    sets: LabeledSets,
    plan: Plan | None,
    settings: MeasureSettings,
    progress: Progress,
) -> None:
    """Fill in, for each set, how far metrics prefer what people prefer; the means over sets.

    InputError: a finished run has scores of one response only. CoverageError: nothing is scored.
    """
    runs = [set_.path for set_ in sets.sets if set_.run is not None]
    if runs or plan is None:
        raise InputError(
            f"{', '.join(runs) or 'nothing'}: a run has scores of one response only; name the file "
            f'of pairs, with "response", "{OTHER}" and "human": {{"{PREFERENCE}": 1}}'
        )
    total, done, keys = 2 * sets.n, 0, plan.keys
    entries: list[dict[str, Any]] = []
    over: dict[str, OverSets] = {}
    batches = score_batches(plan, _both_responses(sets), total, settings.workers)
    for set_ in sets.sets:
        parts: list[Floats] = []
        while sum(map(len, parts)) < 2 * set_.n:
            batch = next(batches)
            parts.append(batch.values[:, : len(keys)])
            done += batch.n
            progress("score", done, total)
        values = np.concatenate(parts)  # rows: response A and response B of each record in turn
        measured = {}
        for i, key in enumerate(keys):
            both = np.concatenate([values[0::2, i], values[1::2, i]])
            if not np.isnan(both).all():
                turned = turn(key, both)
                measured[key] = preferences(
                    turned[: set_.n] - turned[set_.n :],
                    set_.labels,
                    set_.grouping,
                    **settings.draws,
                )
                over.setdefault(key, OverSets(tuple(measured[key].estimates))).add(measured[key])
        entries.append(
            {
                "set": set_.name,
                "path": set_.path,
                "sha256": set_.sha256,
                "n": set_.n,
                "ties": sum_counts(set_.labels == 0),
                "a_preferred": sum_counts(set_.labels > 0),
                "groups": set_.groups,
                "annotators": len(set_.votes.annotators) or 1,
                "unused": dict(sorted(set_.unused.items())),
                "metrics": {key: m.raw_measures() for key, m in measured.items()},
                "scored": {
                    key: {"n": m.n, "metric_ties": m.metric_ties} for key, m in measured.items()
                },
                "ceiling": _ceiling(set_, settings),
            }
        )
    if not over:
        raise CoverageError(f"no pair could be scored by {', '.join(keys)}")
    raw["preferences"] = entries
    raw["mean"] = {key: means.raw_means(settings.level) for key, means in over.items()}


def _both_responses(sets: LabeledSets) -> Iterator[list[Record]]:
    for set_ in sets.sets:
        for batch in sets.batches(set_):
            both = []
            for record, _ in batch:
                other = (record.meta or {})[OTHER]
                second = msgspec.structs.replace(record, response=other, response_facts=None)
                both += [record, second]
            if both:
                yield both
