"""How two runs are compared, and what stands beside the test of each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats
from trueground.stats.effects import effects_of
from trueground.stats.paired import MCNEMAR, Paired, differences, signed_rank
from trueground.stats.power import plan
from trueground.studies.comparison import Sizes


@dataclass(frozen=True)
class Settings:
    """How runs are compared; `flips` is the most changed items to name per direction.

    Planning is for tests at 1 − `level` that find the differences `detect` with this `power`.
    `tests` is how many Holm's adjustment counts, at the most.
    """

    resamples: int
    seed: int
    level: float
    flips: int
    allow_mismatch: bool
    power: float = 0.8
    detect: tuple[float, ...] = (0.02,)
    tests: int = 1

    @property
    def alpha(self) -> float:
        """The level of the tests for which is planned."""
        return round(1 - self.level, 12)


def sizes_of(
    results: Sequence[Paired],
    a: Floats,
    b: Floats,
    clusters: NDArray[np.int64] | None,
    chosen: Settings,
) -> list[Sizes]:
    """Wilcoxon's test, sizes of the effect and planning, over the items scored in both."""
    known = ~np.isnan(a) & ~np.isnan(b)
    alike: dict[bytes, list[int]] = {}  # metrics scored on the same items share their draws
    for i in range(len(results)):
        alike.setdefault(known[:, i].tobytes(), []).append(i)
    found: dict[int, Sizes] = {}
    for columns in alike.values():
        rows = np.flatnonzero(known[:, columns[0]])
        groups = None if clusters is None else clusters[rows]
        part = np.ix_(rows, np.array(columns))
        mine = [results[i] for i in columns]
        found |= zip(columns, _alike(mine, a[part], b[part], groups, chosen), strict=True)
    return [found[i] for i in range(len(results))]


def _alike(
    results: Sequence[Paired],
    a: Floats,
    b: Floats,
    clusters: NDArray[np.int64] | None,
    chosen: Settings,
) -> list[Sizes]:
    """The same of metrics that are scored on all of these items."""
    binary = [result.mcnemar is not None for result in results]
    draws = {"resamples": chosen.resamples, "seed": chosen.seed}
    every = effects_of(a, b, clusters, binary=binary, level=chosen.level, **draws)
    return [
        Sizes(
            signed_rank(d, clusters) if len(d) and result.mcnemar is None else None,
            effects,
            plan(
                d,
                clusters,
                discordant=result.test == MCNEMAR,
                wanted=chosen.detect,
                alpha=chosen.alpha,
                power=chosen.power,
            ),
        )
        for d, result, effects in zip(differences(a, b).T, results, every, strict=True)
    ]
