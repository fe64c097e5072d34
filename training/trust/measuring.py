"""What the page tells: the labeled sets validated, and the judge on sets left out of its fit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

import trueground as tg
from training.offline_judge.fit import fit_folds, support, supported_shares
from training.offline_judge.rows import Rows, of_set
from training.offline_judge.sets import Example, folds, read, table
from trueground.claims.registry import get_decomposer
from trueground.judges.lexical.weights import LexicalWeights
from trueground.judges.people import LabeledVerdicts, SetCounts, VerdictCount
from trueground.metrics.answer_verdicts import AnswerVerdict
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.estimates import MeasureEstimate, mean_of_sets, raw_estimates
from trueground.stats.human.measure import Measured, measure

FAITHFUL = (
    "support",
    "support_min",
    "grounding_precision",
    "k_precision",
    "k_precision_pp",
    "k_f1",
    "k_f1_pp",
    "k_recall",
)
CORRECT = (
    "correct_support",
    "recall",
    "recall_strict",
    "answer_accuracy",
    "f1",
    "precision",
    "exact_match",
    "rouge_1",
    "rouge_2",
    "rouge_l",
)
RIVAL = "k_precision"  # what the judge must not fall behind
_LEVEL = 0.95
Scores = Mapping[str, float | None]


class Settings(msgspec.Struct, frozen=True):
    """Where the sets are, where WordNet is (METEOR is left out without), and the draws."""

    data: Path
    wordnet: Path | None = None
    seed: int = 0
    resamples: int = 2_000
    workers: int | None = 1


class Validated(msgspec.Struct):
    """The JSON of a validation, and of each set the scores of its items: id → metric → score."""

    raw: dict[str, Any]
    items: dict[str, dict[str, Scores]]


class LeftOut(msgspec.Struct):
    """`support` by weights fitted without the set and its relatives.

    `sets` maps a set to its measures, `rival` to those of K-Precision on the same items, `beyond`
    to the one AUROC less the other; `mean`, `mean_rival`, `mean_beyond` and `pooled` (calibration
    error) are over all sets. All numbers are estimates in their JSON form.
    """

    sets: dict[str, dict[str, Any]]
    rival: dict[str, dict[str, Any]]
    beyond: dict[str, Any]
    mean: dict[str, Any]
    mean_rival: dict[str, Any]
    mean_beyond: dict[str, Any]
    pooled: dict[str, Any]


class Fits(NamedTuple):
    """The claims of each set, and weights that were fitted without it and its relatives."""

    rows: dict[str, Rows]
    weights: dict[str, LexicalWeights]


class Found(msgspec.Struct):
    """Everything that the tables are made of."""

    faithful: dict[str, Any]
    correct: dict[str, Any]
    left_out: LeftOut
    verdicts: LabeledVerdicts


def measured(given: Settings, fits: Fits) -> Found:
    """Validate all sets with the shipped weights, and those of `fits`. InputError for DIR."""
    faithful = validated(given, "faithful", FAITHFUL)
    correct = list(CORRECT)
    if given.wordnet is not None:
        correct.append(f"meteor(wordnet={given.wordnet})")
    return Found(
        faithful.raw,
        validated(given, "correct", correct).raw,
        left_out(given, faithful.items, fits),
        count_verdicts(given, fits),
    )


def fit_without_each(given: Settings) -> Fits:
    """Weights fitted without each set and its relatives."""
    rows = {name: of_set(given.data, name) for name in folds("faithful")}
    return Fits(rows, fit_folds(given.data, rows, given.seed))


def validated(given: Settings, label: str, metrics: Sequence[str]) -> Validated:
    """What `trueground validate` says of all sets with this label."""
    files = [given.data / f"{name}.jsonl.gz" for name in folds(label)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "validated"
        raw = tg.validate(
            files,
            out=out,
            label=label,
            metrics=metrics,
            worst=0,
            seed=given.seed,
            resamples=given.resamples,
            level=_LEVEL,
            workers=given.workers,
        ).raw
        items = {name: _items(out / "items" / f"{name}.jsonl") for name in folds(label)}
    return Validated(raw, items)


def _items(path: Path) -> dict[str, Scores]:
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    return {line["id"]: line["scores"] for line in lines}


def left_out(given: Settings, items: Mapping[str, Mapping[str, Scores]], fits: Fits) -> LeftOut:
    """What weights fitted without a set and its relatives do on it."""
    names = list(folds("faithful"))
    rows, fitted = fits
    scores = {name: support(fitted[name], rows[name]) for name in names}
    units = {name: read_with_claims(given.data, name) for name in names}
    found: list[tuple[Measured, Measured]] = []
    for place, name in enumerate(names):
        rival = [items[name].get(one.id, {}).get(RIVAL) for one in units[name]]
        both = Measured.measure_all(
            {"support": scores[name], RIVAL: np.array(rival, np.float64)},
            rows[name].labels,
            clusters=[one.group for one in units[name]],
            resamples=given.resamples,
            seed=given.seed + place,  # so that no two sets share their draws
            level=_LEVEL,
        )
        found.append((both["support"], both[RIVAL]))
    return LeftOut(
        {name: _raw(own) for name, (own, _) in zip(names, found, strict=True)},
        {name: _raw(rival) for name, (_, rival) in zip(names, found, strict=True)},
        {name: _apart(*both).raw() for name, both in zip(names, found, strict=True)},
        _mean([own for own, _ in found]),
        _mean([rival for _, rival in found]),
        _mean_difference(found),
        _pooled(given, scores, rows, units),
    )


def _mean(found: Sequence[Measured]) -> dict[str, Any]:
    return raw_estimates(mean_of_sets(found, _LEVEL), "sets")


def _apart(own: Measured, rival: Measured) -> MeasureEstimate:
    return own.minus(rival).estimates["auroc"]


def read_with_claims(folder: Path, name: str) -> list[Example]:
    """The records of a set that `of_set` keeps, in its order."""
    examples = list(read(folder, name))
    parts = get_decomposer("rules").decompose([one.response for one in examples])
    return [one for one, own in zip(examples, parts, strict=True) if isinstance(own, list) and own]


def _raw(found: Measured) -> dict[str, Any]:
    return raw_estimates(found.estimates)


def _mean_difference(found: Sequence[tuple[Measured, Measured]]) -> dict[str, Any]:
    """The mean over sets of AUROC less that of K-Precision, its interval from paired draws."""
    values = [_apart(own, rival).value for own, rival in found]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        why = "a set has labels of one kind only"
        return {"value": None, "ci": None, "sets": len(known), "why": why}
    draws = np.mean([own.draws["auroc"] - rival.draws["auroc"] for own, rival in found], axis=0)
    ci = percentiles(draws, _LEVEL)
    return {
        "value": float(np.mean(known)),
        "ci": None if ci is None else list(ci),
        "sets": len(known),
        "why": None,
    }


def _pooled(
    given: Settings,
    scores: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, Rows],
    units: Mapping[str, Sequence[Example]],
) -> dict[str, Any]:
    """The calibration error over all records of all sets."""
    found = measure(
        np.concatenate(list(scores.values())),
        np.concatenate([rows[name].labels for name in scores]),
        clusters=[f"{name} {one.group}" for name in scores for one in units[name]],
        resamples=given.resamples,
        seed=given.seed,
        level=_LEVEL,
    )
    return found.estimates["calibration_error"].raw()


def count_verdicts(given: Settings, fits: Fits) -> LabeledVerdicts:
    """Of each labeled set how many answers have a verdict, and how many of them people called
    unsupported; by weights fitted without the set and its relatives.
    """
    found = tg.score([{"response": "Yes.", "contexts": ["No."]}], metrics="support")
    signature = str(found.summary.raw["verdicts"]["signature"])
    sets = [_count_set(given.data, name, fits.rows[name], fits.weights[name]) for name in fits.rows]
    return LabeledVerdicts(signature, sets)


def _count_set(folder: Path, name: str, rows: Rows, weights: LexicalWeights) -> SetCounts:
    answers = [one.response for one in read_with_claims(folder, name)]
    declined = np.asarray(tg.metrics.abstained(responses=answers)) > 0
    codes = AnswerVerdict.encode(supported_shares(weights, rows), np.zeros(len(answers), np.uint8))
    counts: dict[str, VerdictCount] = {}
    for place, verdict in enumerate(AnswerVerdict.NAMES[:3]):
        labels = rows.labels[(codes == place) & ~declined]
        counts[verdict] = VerdictCount(len(labels), int((labels == 0).sum()))
    return SetCounts(name, table()[name].unit, counts)
