"""Claims as the model of the judge sees them: features, and what no weight decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.offline_judge.perturb import Row
from training.offline_judge.sets import Example, read
from trueground.claims.registry import get_decomposer
from trueground.judges.lexical.claim import ClaimView
from trueground.judges.lexical.judge import Evidence, LexicalJudge, find_evidence, find_verbatim
from trueground.judges.lexical.texts import ContextView, TextView
from trueground.judges.lexical.weights import AGAINST, NAMES, capped, lifted

Floats = NDArray[np.float64]
SIGNS = np.array([-1.0 if name in AGAINST else 1.0 for name in NAMES])


class Rows(NamedTuple):
    """Claims, and the responses that they are of.

    `x` (claims, features) is turned so that more is better; `capped`, `whole`, `verbatim` and
    `empty` (claims,) say what the judge does with a claim; `of` (claims,) is its response, `n`
    (responses,) how many claims that one has, `labels` (responses,) 0 or 1, `weights` (responses,)
    sums to 1.
    """

    x: Floats
    capped: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    verbatim: NDArray[np.bool_]
    empty: NDArray[np.bool_]
    of: NDArray[np.int64]
    n: NDArray[np.int64]
    labels: Floats
    weights: Floats

    def support(self, probabilities: Floats, verbatim: float) -> Floats:
        """The metric `support` of each response, from the model's probabilities of its claims."""
        p = self.judged(probabilities, verbatim)
        return np.asarray(np.bincount(self.of, p, len(self.n)) / self.n)

    def supported(self, probabilities: Floats, verbatim: float) -> Floats:
        """The metric `grounding_precision` of each response, likewise."""
        over = self.judged(probabilities, verbatim) > LexicalJudge.threshold
        return np.asarray(np.bincount(self.of, over, len(self.n)) / self.n)

    def judged(self, probabilities: Floats, verbatim: float) -> Floats:
        """The judge's probability of each claim."""
        p = np.where(self.capped, [capped(one) for one in probabilities], probabilities)
        p = np.where(self.whole, [lifted(one) for one in probabilities], p)
        return np.where(self.verbatim, verbatim, np.where(self.empty, 0.0, p))


def of_set(folder: Path, name: str) -> Rows:
    """The responses of a labeled set that have claims, split as `score` splits them.

    Each response weighs alike, and both labels together half as much as they stand and half as if
    they were equally frequent: the sets differ much in their share of supported answers.
    """
    examples, claims = split_set(folder, name)
    labels = np.array([one.label for one, own in zip(examples, claims, strict=True) if own])
    share = labels.mean()
    even = np.where(labels > 0, 0.5 / share, 0.5 / (1 - share))
    return _rows(examples, claims, labels, (0.5 + 0.5 * even) / len(labels))


def split_set(folder: Path, name: str) -> tuple[list[Example], list[list[str]]]:
    """The records of a labeled set, and the claims of each response, split as `score` splits."""
    examples = list(read(folder, name))
    parts = get_decomposer("rules").decompose([one.response for one in examples])
    return examples, [[c.text for c in p] if isinstance(p, list) else [] for p in parts]


def of_perturbed(rows: Sequence[Row]) -> Rows:
    """Perturbed claims; both labels weigh alike, and the kinds of a label too."""
    labels = np.array([float(row.label) for row in rows])
    return _rows(rows, [[row.claim] for row in rows], labels, _by_kind(rows))


def _by_kind(rows: Sequence[Row]) -> Floats:
    kinds = Counter((row.label, row.kind) for row in rows)
    several = Counter(label for label, _ in kinds)
    return np.array([0.5 / several[row.label] / kinds[row.label, row.kind] for row in rows])


def _rows(
    sources: Iterable[Example | Row], claims: list[list[str]], labels: Floats, weights: Floats
) -> Rows:
    found: list[Evidence] = []
    verbatim: list[bool] = []
    of: list[int] = []
    views: dict[str, TextView] = {}
    last: tuple[str, ...] = ()
    number = -1
    for source, own in zip(sources, claims, strict=True):
        number += bool(own)
        texts = tuple(text for text in source.contexts if text.strip())
        if texts != last:  # claims about the same texts are neighbors
            last, views = texts, {text: views.get(text) or TextView(text) for text in texts}
        context = ContextView([views[text] for text in texts])
        for claim in own:
            found.append(find_evidence(ClaimView(claim), context))
            verbatim.append(any(find_verbatim(claim, text) for text in context.texts))
            of.append(number)
    return Rows(
        np.array([one.features for one in found]) * SIGNS,
        np.array([one.doubtful for one in found]),
        np.array([one.whole for one in found]),
        np.array(verbatim),
        np.array([one.place is None for one in found]),
        np.array(of),
        np.bincount(of),
        labels,
        weights,
    )
