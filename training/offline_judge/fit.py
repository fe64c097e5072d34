"""The weights of the judge: fit them, and measure what they do on sets that they have not seen.

python -m training.offline_judge.fit --data DIR [--seed 0] [--out FILE.json] [--write]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from training.offline_judge.perturb import Row, make
from training.offline_judge.rows import Floats, Rows, of_perturbed, of_set
from training.offline_judge.sets import folds, permissive
from training.offline_judge.sources import sources
from trueground.judges.lexical.weights import FILE, NAMES, LexicalWeights
from trueground.stats.arithmetic.arrays import logistic
from trueground.stats.monotone import LabeledClaims
from trueground.stats.thresholds import ScoredLabels

PENALTY = 0.03  # on the squares of the weights of standardized features
PERTURBED = 0.1  # weight of the perturbed claims beside the mean of the sets
_HEAD = """\
# The model of the judge `lexical`. The log-odds that a claim is supported are the intercept and the
# sum of weight times feature; the weights of values_missing, names_missing and contradicted are
# taken off. What each feature is stands in evidence.py. `verbatim` is the probability of a claim
# that stands in a text word for word. Made by training/offline_judge/fit.py (seed {seed}) from the
# labels of {sets},
# and from {perturbed:,} perturbed claims.
"""


class Fold(msgspec.Struct):
    """What weights do on one set; `trained` are the sets that they were fitted on."""

    set: str
    trained: tuple[str, ...]
    n: int
    auroc: float


class Measured(msgspec.Struct):
    """Each set with itself and its relatives left out; the error is over all sets together."""

    folds: list[Fold]
    auroc: float
    calibration_error: float


def fit(rows: Sequence[Rows], perturbed: Rows) -> LexicalWeights:
    """The weights, none below 0, that make labels likeliest: the support of a response is the mean
    over its claims. Every set weighs alike, perturbed claims PERTURBED as much as all.
    """
    claims = join_sets([(one.x, one) for one in rows], (perturbed.x, perturbed))
    found = claims.fit(PENALTY, like=np.concatenate([one.x for one in rows]))
    table = {name: round(float(w), 3) for name, w in zip(NAMES, found.weights, strict=True)}
    intercept = round(found.intercept, 3)
    return LexicalWeights(intercept=intercept, verbatim=_verbatim(rows), weights=table)


def join_sets(
    sets: Sequence[tuple[Floats, Rows]], perturbed: tuple[Floats, Rows], share: float = PERTURBED
) -> LabeledClaims:
    """The claims of all sets with these features: sets weigh alike, perturbed claims `share`."""
    parts = [*sets, perturbed]
    shares = [1 / len(sets)] * len(sets) + [share]
    starts = np.cumsum([0, *(len(one.n) for _, one in parts)])
    return LabeledClaims(
        np.concatenate([x for x, _ in parts]),
        np.concatenate([one.of + at for (_, one), at in zip(parts, starts, strict=False)]),
        np.concatenate([one.labels for _, one in parts]),
        np.concatenate([one.weights * w for (_, one), w in zip(parts, shares, strict=True)]),
    )


def _verbatim(rows: Sequence[Rows]) -> float:
    """The share of right labels among responses that are one claim, word for word in a text."""
    right = every = 0.0
    for one in rows:
        alone = one.verbatim[one.n[one.of] == 1]
        labels = one.labels[one.n == 1][alone]
        right, every = right + labels.sum(), every + len(labels)
    return round(float((right + 1) / (every + 2)), 3)


def support(weights: LexicalWeights, rows: Rows) -> Floats:
    """The metric `support` of each response under these weights."""
    return rows.support(_probabilities(weights, rows), weights.verbatim)


def supported_shares(weights: LexicalWeights, rows: Rows) -> Floats:
    """The metric `grounding_precision` of each response under these weights."""
    return rows.supported(_probabilities(weights, rows), weights.verbatim)


def claim_probabilities(weights: LexicalWeights, rows: Rows) -> Floats:
    """The judge's probability of each claim under these weights."""
    return rows.judged(_probabilities(weights, rows), weights.verbatim)


def _probabilities(weights: LexicalWeights, rows: Rows) -> Floats:
    signed = np.array([weights.weights[name] for name in NAMES])
    return logistic(rows.x @ signed + weights.intercept)


def perturbed(data: Path, sets: Sequence[str], seed: int) -> Rows:
    """Perturbed claims made from these sets alone, whose other texts lend names and sentences."""
    return of_perturbed(make_perturbed(data, sets, seed))


def make_perturbed(data: Path, sets: Sequence[str], seed: int) -> list[Row]:
    """The same as they are written."""
    made = make([source for name in sets for source in sources(data, name)], seed)
    return sorted(made, key=lambda row: row.contexts)  # so that every text is read once


def fit_folds(data: Path, rows: Mapping[str, Rows], seed: int) -> dict[str, LexicalWeights]:
    """Set → weights fitted without it and its relatives; equal folds are fitted once."""
    found: dict[tuple[str, ...], LexicalWeights] = {}
    for trained in folds("faithful").values():
        if trained not in found:
            claims = perturbed(data, trained, seed)
            found[trained] = fit([rows[name] for name in trained], claims)
    return {name: found[trained] for name, trained in folds("faithful").items()}


def measure(rows: Mapping[str, Rows], fitted: Mapping[str, LexicalWeights]) -> Measured:
    """What the weights of each fold do on its set."""
    found: list[Fold] = []
    values: list[Floats] = []
    for name, trained in folds("faithful").items():
        values.append(support(fitted[name], rows[name]))
        labels = rows[name].labels > 0
        found.append(Fold(name, trained, len(labels), ScoredLabels(values[-1], labels).auroc()))
    labels = np.concatenate([rows[one.set].labels for one in found]) > 0
    error = ScoredLabels(np.concatenate(values), labels).calibration_error()
    return Measured(found, float(np.mean([one.auroc for one in found])), error or 0.0)


def main(data: Path, seed: int, out: Path | None, write: bool) -> None:
    """Fit and measure; print the table, and write the weights where asked."""
    rows = {name: of_set(data, name) for name in folds("faithful")}
    trains = permissive("faithful")
    measured = measure(rows, fit_folds(data, rows, seed))
    every = perturbed(data, trains, seed)
    weights = fit([rows[name] for name in trains], every)
    for one in measured.folds:
        print(f"{one.set:20} {one.n:6,} {one.auroc:.4f}")
    print(f"mean AUROC {measured.auroc:.4f}, calibration error {measured.calibration_error:.4f}")
    print(weights)
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=2))
    if write:
        head = _HEAD.format(sets=", ".join(trains), perturbed=len(every.labels), seed=seed)
        FILE.write_text(head + _toml(weights), "utf-8")


def _toml(weights: LexicalWeights) -> str:
    lines = [f"intercept = {weights.intercept}", f"verbatim = {weights.verbatim}", "", "[weights]"]
    return "\n".join([*lines, *(f"{name} = {w}" for name, w in weights.weights.items()), ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the weights of the package")
    given = parser.parse_args()
    main(given.data, given.seed, given.out, given.write)
