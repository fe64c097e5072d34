"""Weights of several judges, fitted on labels, and a comparison with the best single judge.

All measures of the stack are cross-validated: weights that were fitted on four fifths of the
records judge the other fifth. Groups are kept whole.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trueground._version import __version__
from trueground.claims import Decomposer
from trueground.errors import CoverageError, InputError
from trueground.files import OutputPath
from trueground.judges import Judge, StackFile, StackMember, get_judge
from trueground.net import redact_urls
from trueground.stats import (
    CalibrationCurve,
    LabeledClaims,
    LogisticModel,
    Measured,
    ScoredLabels,
    mean,
    sum_counts,
    total,
)
from trueground.studies.calibration.judging import context_texts
from trueground.studies.labeled import LabeledSets
from trueground.types import Failure, JudgeRequest, Status

if TYPE_CHECKING:
    from trueground.reports import Block


FOLDS = 5
STACK = "stack"
# Divided by the number of records. Chosen on the labeled sets: 3 ranks 0.001 better where it was
# fitted, but tells a changed number or name less surely.
PENALTY = 10.0
_LEAST_OF_A_KIND = 10
_POWER = 0.8


@dataclass(frozen=True)
class FittedStack:
    """Judges weighed by labels. `raw` is everything, as it stands in the file and in JSON."""

    raw: dict[str, Any]

    @property
    def refused(self) -> str | None:
        """Why the stack is not written, where the labels do not show that it is better."""
        refused: str | None = self.raw["refused"]
        return refused

    def blocks(self) -> list[Block]:
        """The stack next to each of its judges, and its weights, as blocks."""
        from trueground.studies.calibration.page import show_stack

        return show_stack(self.raw)

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file that `--judge FILE` reads. InputError where it is refused. OutputError."""
        StackFile.check_free(Path(path), overwrite)
        if self.refused is not None:
            raise InputError(self.refused)
        OutputPath(Path(path)).write_json(self.raw)


@dataclass
class MeasuredJudge:
    """Results of one judge on all claims: its features, and its score as it runs alone."""

    written: str
    member: StackMember
    alone: Judge
    features: list[NDArray[np.float64]] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def measure(self, requests: Sequence[JudgeRequest]) -> list[Status]:
        """Judge some claims and return the status of each."""
        verdicts, features = self.member.read(requests)
        self.features.append(features)
        alone = verdicts if self.alone is self.member.judge else self.alone.answer_once(requests)
        for verdict in alone:
            number = verdict.score if verdict.probability is None else verdict.probability
            self.numbers.append(float(bool(verdict.supported)) if number is None else number)
        pairs = zip(verdicts, alone, strict=True)
        return [a.status if a.status is not Status.SCORED else b.status for a, b in pairs]


@dataclass(frozen=True)
class MeasuredClaims:
    """Results of all judges on labeled records.

    Attributes:
        names: For each judge, its features, in the order of the columns of `rows`.
        alone: For each judge, its mean score over the claims of a record, shape (records,).
    """

    judges: Sequence[MeasuredJudge]
    sets: LabeledSets
    unscored: Counter[str]
    names: list[list[str]]
    rows: LabeledClaims
    alone: dict[str, NDArray[np.float64]]
    clusters: NDArray[np.int64] | None


def open_judges(specs: Sequence[str], cache: bool, stack: ExitStack) -> list[MeasuredJudge]:
    """Open the judges with these names; `stack` closes them."""
    judges = []
    for text, label in zip(specs, StackMember.make_labels(specs), strict=True):
        member = StackMember.open(text, label, get_judge, cache=cache)
        stack.callback(member.close)
        alone = member.judge
        if alone is None:
            alone = get_judge(text, cache=cache)
            stack.callback(alone.close)
        judges.append(MeasuredJudge(text, member, alone))
    return judges


def measure_claims(
    sets: LabeledSets,
    judges: Sequence[MeasuredJudge],
    decomposer: Decomposer,
    progress: Callable[[str, int, int | None], None],
) -> MeasuredClaims:
    """Judge every claim of the labeled records. Raise CoverageError if none is scored."""
    unscored = sum((Counter(labeled_set.unused) for labeled_set in sets.all_sets), Counter[str]())
    counts: list[int] = []  # claims of each record
    kept: list[bool] = []
    statuses: list[Status] = []
    for labeled_set in sets.sets:
        for batch in sets.batches(labeled_set):
            claims = decomposer.answer_once([record.response for record, _ in batch])
            requests: list[JudgeRequest] = []
            for (record, _), claims_or_failure in zip(batch, claims, strict=True):
                texts: list[str] = []
                status = Status.NO_CLAIMS
                if isinstance(claims_or_failure, Failure):
                    status = claims_or_failure.status
                else:
                    texts = [claim.text for claim in claims_or_failure]
                kept.append(bool(texts))
                counts.append(len(texts))
                if not texts:
                    unscored[status.value] += 1
                requests += [JudgeRequest(text, context_texts(record)) for text in texts]
            by_judge = [judge.measure(requests) for judge in judges]
            statuses += [_worst(each) for each in zip(*by_judge, strict=True)]
            progress("score", len(kept), sets.n)
    record_of = np.repeat(np.arange(len(counts)), counts)
    is_unscored = [status is not Status.SCORED for status in statuses]
    for number in np.unique(record_of[is_unscored]).tolist():
        of_record = [s for s, n in zip(statuses, record_of, strict=True) if n == number]
        unscored[_worst(of_record).value] += 1
        kept[number] = False
    used = np.flatnonzero(kept)
    if not len(used):
        reasons = ", ".join(f"{count:,} {status}" for status, count in unscored.items())
        raise CoverageError(f"the judges could score no record: {reasons}")
    return _assemble(sets, judges, unscored, record_of, used)


def _assemble(
    sets: LabeledSets,
    judges: Sequence[MeasuredJudge],
    unscored: Counter[str],
    of: NDArray[np.int64],
    used: NDArray[np.int64],
) -> MeasuredClaims:
    labels = np.concatenate([labeled_set.labels for labeled_set in sets.all_sets]) > 0.5
    clusters = np.concatenate([labeled_set.clusters for labeled_set in sets.all_sets])
    is_used = np.isin(of, used)
    blocks, names, alone = [], [], {}
    for judge in judges:
        features = np.concatenate(judge.features)
        columns = [n for n in range(features.shape[1]) if not np.isnan(features[is_used, n]).any()]
        columns = judge.member.choose(columns)
        blocks.append(features[:, columns])
        names.append([judge.member.names[n] for n in columns])
        numbers = np.array(judge.numbers)
        alone[judge.member.label] = np.bincount(of, numbers, len(labels)) / np.maximum(
            np.bincount(of, minlength=len(labels)), 1
        )
    rows = LabeledClaims(
        np.hstack(blocks), of, labels.astype(np.float64), np.full(len(labels), 1 / len(used))
    )
    return MeasuredClaims(
        judges,
        sets,
        unscored,
        names,
        rows.select(used),
        {label: values[used] for label, values in alone.items()},
        clusters[used] if any(labeled_set.grouped for labeled_set in sets.all_sets) else None,
    )


def compute_stack(
    m: MeasuredClaims, decomposer: Decomposer, *, seed: int, resamples: int, level: float
) -> FittedStack:
    """Return weights and their accuracy on records left out.

    Raises:
        InputError: There are too few records with one of the labels.
    """
    labels = m.rows.labels > 0.5
    fewest = min(sum_counts(labels), sum_counts(~labels))
    if fewest < _LEAST_OF_A_KIND:
        raise InputError(
            f"{fewest} labels of the rarer kind; expected {_LEAST_OF_A_KIND} or more of each, and "
            "better a hundred records or more in all; label more"
        )
    parts = m.rows.folds(m.clusters, parts=FOLDS, seed=seed)
    if not parts.max():
        raise InputError("all records are of one group; expected several, so that some are left")
    model = fit(m.rows, m.names)
    held, ranked = _leave_out(m, parts, model)
    measured = Measured.measure_all(
        {STACK: ranked, **m.alone},
        m.rows.labels,
        clusters=m.clusters,
        threshold=None,
        probability=False,
        resamples=resamples,
        seed=seed,
        level=level,
    )
    scored = ScoredLabels(held, labels)
    threshold = scored.best_threshold()
    at_held = scored.held_out(parts)
    alone: dict[str, dict[str, Any]] = {}
    needed: dict[str, float | None] = {}

    def fit_platt(data: ScoredLabels) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        return CalibrationCurve.fit("platt", data).probabilities

    for label, scores in m.alone.items():
        curve = ScoredLabels(scores, labels).held_out(parts, fit_platt, "fit").values
        difference = measured[STACK].minus(measured[label]).estimates["auroc"]
        needed[label] = difference.items_to_show(len(labels), level=level, power=_POWER)
        alone[label] = {
            "auroc": measured[label].estimates["auroc"].raw(),
            **_errors(curve, labels),
            "difference": difference.raw(),
        }
    best = max(alone, key=lambda label: alone[label]["auroc"]["value"])
    spec_of = {judge.member.label: judge.written for judge in m.judges}
    weights = iter(model.weights.tolist())
    judges = [
        {
            "judge": redact_urls(judge.written),
            "basis": judge.member.basis,
            "weights": {name: round(next(weights), 6) for name in names},
        }
        for judge, names in zip(m.judges, m.names, strict=True)
    ]
    raw: dict[str, Any] = {
        "format": StackFile.FORMAT,
        "judges": judges,
        "intercept": round(model.intercept, 6),
        "threshold": round(threshold, 4),
        "decomposer": decomposer.signature,
        "label": m.sets.rule.label,
        "positive_above": m.sets.rule.positive_above,
        "n": len(labels),
        "positives": sum_counts(labels),
        "claims": len(m.rows.of),
        "groups": None if m.clusters is None else len(np.unique(m.clusters)),
        "unscored": dict(sorted(m.unscored.items())),
        "left_out": {
            "folds": int(parts.max()) + 1,
            "auroc": measured[STACK].estimates["auroc"].raw(),
            **_errors(held, labels),
            "balanced_accuracy": None
            if at_held.values is None
            else scored.measures_at(at_held.values)["balanced_accuracy"],
            "thresholds": at_held.chosen,
        },
        "alone": alone,
        "best": best,
        **_refusal(alone[best], best, spec_of[best], len(labels), level, needed[best]),
        "files": [{"path": s.path, "sha256": s.sha256, "n": s.n} for s in m.sets.all_sets],
        "ci_level": level,
        "resamples": resamples,
        "seed": seed,
        "trueground": __version__,
        "notes": m.sets.notes,
    }
    return FittedStack(raw)


def fit(rows: LabeledClaims, names: Sequence[Sequence[str]]) -> LogisticModel:
    """Return weights fitted on these records, shrunk to the mean of the judges' log-odds.

    With few labels, the result stays close to that mean. `names` are the features of each judge.
    """
    size = len(rows.labels)
    even = rows._replace(weights=np.full(size, 1 / size))
    trusted = [name == "log_odds" for features in names for name in features]
    return even.fit(PENALTY / size, prior=np.array(trusted) / len(names))


def _leave_out(
    m: MeasuredClaims, parts: NDArray[np.int64], whole_model: LogisticModel
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of each record by the other parts' weights, and a score to rank by.

    The score uses the level of `whole_model` for all parts. If a part has more positive records by
    chance, the others have fewer, so separate levels would rank backwards.
    """
    rows, held, ranked = m.rows, np.empty(len(parts)), np.empty(len(parts))
    center = mean(rows.x, axis=0)
    level = whole_model.intercept + total(center * whole_model.weights)
    for part in range(int(parts.max()) + 1):
        left_out_rows, others = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        by = fit(rows.select(others), m.names)
        held[left_out_rows] = by.support(rows.select(left_out_rows))
        levelled = by._replace(intercept=level - total(center * by.weights))
        ranked[left_out_rows] = levelled.support(rows.select(left_out_rows))
    return held, ranked


def _refusal(
    best: dict[str, Any],
    label: str,
    spec: str,
    n: int,
    level: float,
    n_needed: float | None,
) -> dict[str, Any]:
    """Why the stack is refused, and how many labels it would take; None where it is better."""
    value, ci = best["difference"]["value"], best["difference"]["ci"]
    if ci is not None and ci[0] > 0:
        return {"refused": None, "needed": None}
    named = shlex.quote(redact_urls(spec))
    alone = (
        f"Use {label} alone: --judge {named}, with a threshold of your labels by "
        f"trueground judge calibrate FILE --judge {named}"
    )
    needed, what = None, "no number of labels is in sight that would show otherwise"
    if n_needed is not None:
        needed = int(float(f"{n_needed:.1e}"))
        what = f"to show such a difference takes about {needed:,} labels"
    interval = "no interval" if ci is None else f"{level:.0%} interval {ci[0]:+.3f} to {ci[1]:+.3f}"
    reason = (
        f"{n:,} labels do not show that the stack is better than {label} alone: AUROC on records "
        f"left out {value:+.3f}, {interval}; {what}. {alone}"
    )
    return {"refused": reason, "needed": needed}


def _errors(
    probabilities: NDArray[np.float64] | None, labels: NDArray[np.bool_]
) -> dict[str, float | None]:
    if probabilities is None:
        return {"calibration_error": None, "brier": None}
    labeled = ScoredLabels(probabilities, labels)
    return {"calibration_error": labeled.calibration_error(), "brier": labeled.brier()}


def _worst(statuses: Sequence[Status]) -> Status:
    return next((status for status in statuses if status is not Status.SCORED), Status.SCORED)
