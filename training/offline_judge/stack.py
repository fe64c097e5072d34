"""The numbers of the judge `stack`: the lexical judge weighed with four features of MiniLM.

python -m training.offline_judge.stack --data DIR --model "bi-encoder:MODEL(…)" [--seed 0] [--write]

The recipe is that of `fit.py`: the same sets, folds, perturbed claims and weights of rows. Left out
with a set and its relatives are their labels, the perturbed claims made of their texts, and the
lexical judge's own weights, which are fitted anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from training.offline_judge.fit import (
    PENALTY,
    claim_probabilities,
    fit,
    join_sets,
    make_perturbed,
    support,
)
from training.offline_judge.rows import Floats, Rows, of_perturbed, of_set, split_set
from training.offline_judge.sets import folds, permissive
from trueground.encoders.models import BiEncoder
from trueground.judges.lexical.judge import LexicalJudge
from trueground.judges.lexical.weights import LexicalWeights
from trueground.judges.registry import get_judge
from trueground.judges.stack import DEFAULT, StackFile, StackMember, log_odds
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.estimates import mean_of_sets
from trueground.stats.human.measure import Measured
from trueground.stats.monotone import LabeledClaims, LogisticModel
from trueground.stats.thresholds import ScoredLabels
from trueground.studies.calibration.stacking import fit as fit_weights
from trueground.types import JudgeRequest

# Of the perturbed claims beside the mean of the sets. With less, AUROC is higher on sets left out
# and lower on Truly-Ground's changed facts: an encoder hardly sees such a change.
PERTURBED = 0.2
_LEVEL = 0.95
_DRAWS = 3  # of labels from each set


class ClaimFeatures(msgspec.Struct):
    """Rows of a set as `fit.py` has them, the encoder's features of their claims, and groups."""

    rows: Rows
    encoded: Floats
    groups: list[str]

    def features(self, weights: LexicalWeights) -> Floats:
        """The stack's features under these weights of the lexical judge, shape (claims, 5)."""
        odds = [log_odds(p) for p in claim_probabilities(weights, self.rows).tolist()]
        return np.column_stack([odds, self.encoded])

    def select(self, kept: Sequence[bool]) -> ClaimFeatures:
        """Only these claims, of rows that are one claim each; their weights sum to 1 again."""
        mask, rows = np.array(kept), self.rows
        weights = rows.weights[mask] / rows.weights[mask].sum()
        own = rows._replace(**{name: column[mask] for name, column in rows._asdict().items()})
        own = own._replace(of=np.arange(mask.sum()), weights=weights)
        return ClaimFeatures(own, self.encoded[mask], [])


def encode(member: StackMember, claims: Sequence[tuple[str, tuple[str, ...]]]) -> Floats:
    """The encoder's features of (claim, texts), shape (n, 4)."""
    return member.read([JudgeRequest(claim, texts) for claim, texts in claims])[1]


def read_set(data: Path, name: str, member: StackMember) -> ClaimFeatures:
    """A labeled set."""
    examples, claims = split_set(data, name)
    pairs = [(text, e.contexts) for e, own in zip(examples, claims, strict=True) for text in own]
    groups = [e.group for e, own in zip(examples, claims, strict=True) if own]
    return ClaimFeatures(of_set(data, name), encode(member, pairs), groups)


class Fits(NamedTuple):
    """The weights of the lexical judge, and of the stack beside it, fitted on the same sets."""

    lexical: LexicalWeights
    stack: LogisticModel


def fit_both(sets: Sequence[ClaimFeatures], perturbed: ClaimFeatures) -> Fits:
    """The weights that suit these sets, and perturbed claims of the same sets."""
    weights = fit([one.rows for one in sets], perturbed.rows)
    parts = [(one.features(weights), one.rows) for one in sets]
    claims = join_sets(parts, (perturbed.features(weights), perturbed.rows), PERTURBED)
    return Fits(weights, claims.fit(PENALTY, like=np.concatenate([x for x, _ in parts])))


def stack_support(found: LogisticModel, one: ClaimFeatures, weights: LexicalWeights) -> Floats:
    """The metric `support` of each response."""
    rows = one.rows
    return found.support(LabeledClaims(one.features(weights), rows.of, rows.labels, rows.weights))


def measure(sets: Mapping[str, ClaimFeatures], fits: Mapping[str, Fits], seed: int) -> None:
    """Print what stack and lexical judge do on each set left out of their `fits`, and the means."""
    found = []
    print(f"{'set':20} {'n':>6} {'lexical':>8} {'stack':>8} difference")
    for place, (name, one) in enumerate(sets.items()):
        weights, stack = fits[name]
        both = Measured.measure_all(
            {
                "stack": stack_support(stack, one, weights),
                "lexical": support(weights, one.rows),
            },
            one.rows.labels,
            clusters=one.groups,
            seed=seed + place,
            level=_LEVEL,
        )
        found.append((both["stack"], both["lexical"]))
        weighed, lexical = found[-1]
        apart = weighed.minus(lexical).estimates["auroc"]
        areas = [m.estimates["auroc"].value or 0 for m in found[-1]]
        ends = apart.ci or (0, 0)
        print(
            f"{name:20} {len(one.groups):6,} {areas[1]:8.4f} {areas[0]:8.4f} "
            f"{apart.value or 0:+.4f} [{ends[0]:+.4f}, {ends[1]:+.4f}]"
        )
    for place, who in enumerate(("stack", "lexical")):
        means = mean_of_sets([pair[place] for pair in found], _LEVEL)
        for key in ("auroc", "calibration_error"):
            print(f"mean {key} of {who}: {means[key].value:.4f} {means[key].ci}")
    draws = np.mean([one.draws["auroc"] - other.draws["auroc"] for one, other in found], axis=0)
    ends = percentiles(draws, _LEVEL) or (0, 0)
    values = [one.minus(other).estimates["auroc"].value or 0 for one, other in found]
    print(f"stack less lexical {np.mean(values):+.4f} [{ends[0]:+.4f}, {ends[1]:+.4f}]")


def draw_labels(sets: Mapping[str, ClaimFeatures], fits: Mapping[str, Fits], seed: int) -> None:
    """Print what `judge fit` gains with labels of a set itself, on the rest of the set.

    The lexical judge has weights that have not seen the set.
    """
    rng = np.random.default_rng(seed)
    for size in (100, 200, 400):
        gains = []
        for name, one in sets.items():
            weights = fits[name].lexical
            x = np.hstack([one.features(weights)[:, :1], one.rows.x, one.encoded])
            rows = LabeledClaims(x, one.rows.of, one.rows.labels, one.rows.weights)
            names = [["log_odds", *map(str, range(one.rows.x.shape[1]))], BiEncoder.COMPARED]
            alone, labels = support(weights, one.rows), rows.labels > 0
            for _ in range(_DRAWS):
                order = rng.permutation(len(labels))
                rest = order[size:]
                found = fit_weights(rows.select(np.sort(order[:size])), names)
                area = ScoredLabels(found.support(rows)[rest], labels[rest]).auroc()
                gains.append(area - ScoredLabels(alone[rest], labels[rest]).auroc())
        lower = np.mean(np.array(gains) < 0)
        print(f"{size} labels: AUROC {np.mean(gains):+.4f}, lower in {lower:.0%} of draws")


def main(data: Path, model: str, seed: int, write: bool) -> None:
    """Fit and measure; print the table, and write the numbers where asked."""
    member = StackMember.open(model, "bi-encoder", get_judge)
    sets = {name: read_set(data, name, member) for name in folds("faithful")}
    trains = permissive("faithful")
    made = make_perturbed(data, trains, seed)
    encoded = encode(member, [(row.claim, row.contexts) for row in made])
    perturbed = ClaimFeatures(of_perturbed(made), encoded, [])
    fits: dict[tuple[str, ...], Fits] = {}
    for trained in {trains, *folds("faithful").values()}:
        own = perturbed.select([row.set in trained for row in made])
        fits[trained] = fit_both([sets[name] for name in trained], own)
    left_out = {name: fits[trained] for name, trained in folds("faithful").items()}
    measure(sets, left_out, seed)
    draw_labels(sets, left_out, seed)
    found = fits[trains].stack
    numbers = [round(float(weight), 3) for weight in found.weights]
    raw = {
        "format": StackFile.FORMAT,
        "judges": [
            {
                "judge": "lexical",
                "basis": LexicalJudge.basis,
                "weights": {"log_odds": numbers[0]},
            },
            {
                "judge": "bi-encoder",
                "basis": "",
                "weights": dict(zip(member.names, numbers[1:], strict=True)),
            },
        ],
        "intercept": round(found.intercept, 3),
        "threshold": LexicalJudge.threshold,
        "sets": list(trains),
        "perturbed": len(made),
        "seed": seed,
    }
    text = msgspec.json.format(msgspec.json.encode(raw), indent=2) + b"\n"
    print(text.decode())
    if write:
        DEFAULT.write_bytes(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True, help="bi-encoder:MODEL(option=value)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="replace the package's numbers")
    given = parser.parse_args()
    main(given.data, given.model, given.seed, given.write)
